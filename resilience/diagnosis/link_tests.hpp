// LinkTests: tests of all links of one kind of group, by all ranks of a replica at once.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/control_group.hpp"
#include "resilience/diagnosis/link_probe.hpp"
#include "resilience/diagnosis/probe_sizes.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

/// A rank's tensor or data group.
struct TestedGroup {
  parallel::GroupKind kind = parallel::GroupKind::data;
  std::vector<int> ranks;                      ///< world ranks, in the group's order
  comm::Communicator* communicator = nullptr;  ///< null: it has no links
};

/// Every call is collective over `control`, all ranks of the replica.
class LinkTests {
 public:
  /// What is referred to must outlive this. `preempted_s`: DeviceProbe::run. No wait lasts longer
  /// than `deadline_s`.
  LinkTests(comm::ControlGroup& control, TestedGroup group, kernels::Device& device,
            std::function<double()> preempted_s, double deadline_s);

  /// Tests within about `seconds`, equal on all ranks: passes with tiny messages, which tell a
  /// delay; one with each of the request's sizes (two where there is one size), cut so as to fit, and
  /// again where a pass takes longer than expected; and tiny messages again. Where not even the
  /// smallest fit, the links of the ranks that the request names, if it names any, are tested with
  /// such alone. Returns what this rank sent; nothing where no group of the kind has links. Throws
  /// comm::AgreedError.
  std::vector<LinkTime> run(const ValidationRequest& request, double seconds);
  /// Tests with messages of these sizes instead, whatever they take: those that other links had.
  std::vector<LinkTime> run_as(std::span<const std::size_t> sizes);
  /// Of the messages so far, but for tiny ones; equal on all ranks.
  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  /// Tests every link once, with messages of one size; returns what that took the slowest rank.
  double pass(std::size_t bytes);
  void pass_tiny(int passes);
  /// False when that has taken all of the time.
  bool pass_sizes(std::span<const std::size_t> sizes, double seconds);
  /// Of this rank's group, the links of ranks that are named, if any is.
  void keep_named(const Suspects& suspects);
  int rank_at(int place) const { return group_.ranks[static_cast<std::size_t>(place)]; }
  /// The largest number that `work` returns on any rank.
  double most(const std::function<double()>& work);

  comm::ControlGroup& control_;
  const TestedGroup group_;
  const std::function<double()> preempted_s_;
  std::vector<ProbeRound> rounds_;
  std::optional<LinkProbe> probe_;  // absent: no links
  int passes_ = 0;
  std::vector<std::size_t> sizes_;
  std::vector<LinkTime> times_;
};

}  // namespace tenax::resilience
