// One of two stages of a pipeline whose link may leave its direct path, with real arithmetic.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "comm/failover/failover_link.hpp"
#include "comm/transport/transports.hpp"
#include "comm/world.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/parallel/execution/arithmetic_stage.hpp"

namespace tenax::parallel {

class FailoverRank {
 public:
  static constexpr int kMicrobatches = 6;

  /// `direct`: to the other rank.
  FailoverRank(comm::World& world, kernels::Device& device, comm::Link& direct, double deadline_s)
      : rank_(world.rank()),
        transport_(comm::create_transport(
            {.kind = comm::TransportKind::shared_memory, .interfaces = {}, .secret = comm::one_job()})),
        group_(world.control_group()),
        peers_(comm::exchange_peers(*group_, *transport_, rank_, world.host())),
        control_(world.split_endpoint(0, rank_)),
        link_(direct, control_->link(1 - rank_), [this, &device] { return make_delegated(device); }, device,
              {2 * kMicrobatches, deadline_s, ArithmeticStage::kCount * sizeof(float), 2}),
        schedule_(plan_schedule(policy_of_name("1f1b"), kMicrobatches, PipelineCosts::uniform(2, {1, 1, 1}))),
        slots_(peak_slots(schedule_, rank_) + 1),
        stage_(device, rank_, 2, slots_, kMicrobatches),
        executor_(stage_, device, {rank_ == 1 ? &link_ : nullptr, rank_ == 0 ? &link_ : nullptr},
                  schedule_.ops_of_stage[static_cast<std::size_t>(rank_)],
                  {slots_, deadline_s, std::numeric_limits<double>::infinity(), 1, true}) {}

  comm::FailoverLink& link() { return link_; }
  ArithmeticStage& stage() { return stage_; }

  /// A step: its passes, again while they are void on any rank. How often they ran.
  int train() {
    int runs = 0;
    double is_void = 1;
    for (; is_void > 0; ++runs) {
      executor_.run();
      link_.finish_iteration();
      is_void = link_.is_void() ? 1 : 0;
      group_->all_reduce_max({&is_void, 1});
    }
    return runs;
  }

 private:
  std::unique_ptr<comm::DelegatedLink> make_delegated(kernels::Device& device) {
    return comm::create_delegated_link("d", peers_[static_cast<std::size_t>(rank_)],
                                       peers_[static_cast<std::size_t>(1 - rank_)], *transport_, device, {});
  }

  const int rank_;
  const std::unique_ptr<comm::Transport> transport_;
  const std::unique_ptr<comm::ControlGroup> group_;
  const std::vector<comm::Peer> peers_;
  const std::unique_ptr<comm::Endpoint> control_;
  comm::FailoverLink link_;
  const PipelineSchedule schedule_;
  const int slots_;
  ArithmeticStage stage_;
  ScheduleExecutor executor_;
};

}  // namespace tenax::parallel
