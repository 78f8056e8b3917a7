#include "app/training/replay_steps.hpp"

#include "app/fault_options.hpp"
#include "app/training/peer_state.hpp"

namespace tenax::app {

ReplaySteps::ReplaySteps(const RunRank& rank, parallel::GptReplica& replica, kernels::Device& device,
                         const std::filesystem::path& folder)
    : sums_(replica.state(), device, replica.stream()),
      recorder_(folder,
                {.rank = rank.world().rank(),
                 .host = rank.world().host(),
                 .stage = replica.coordinates().pipeline,
                 .tensors = {},
                 .parts = {}},
                sums_, rank.deck().comm.deadline_s),
      gradients_(replica.state().gradients()) {
  const resilience::FaultSeat seat{
      .replica = 0, .rank = rank.world().rank(), .directory = rank.records_directory()};
  const auto requests = bit_flip_requests(rank.deck(), seat);
  if (!requests.empty()) flips_.emplace(requests, PeerState::flip_targets(replica), seat);
}

void ReplaySteps::reach(resilience::StepPoint point, std::int64_t step) {
  if (flips_ && point == resilience::StepPoint::update) flip_bits(step);
  recorder_.reach(point, step);
}

void ReplaySteps::flip_bits(std::int64_t step) {
  flips_->begin_step(step);
  flips_->strike_state();
  flips_->strike_own_sums(gradients_.as<float>(), gradients_.size());
  flips_->strike_sums();
}

}  // namespace tenax::app
