#include "resilience/diagnosis/link_tests.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "comm/poll.hpp"
#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

/// Where nothing larger fits.
constexpr std::size_t kSmallBytes = 1024;
constexpr double kShortest_s = 1e-6;
/// Passes with tiny messages before the others, and as many after them: so many that chance does not delay one link in
/// all of them. They may take so much of the time each, but are a few unless they would take half of it.
constexpr double kFewTinyPasses = 3, kMostTinyPasses = 8, kTinyShare = 0.1;

int tiny_passes(double seconds, double tiny_s) {
  if (2 * kFewTinyPasses * tiny_s > seconds / 2) return 1;
  return static_cast<int>(std::clamp(kTinyShare * seconds / tiny_s, kFewTinyPasses, kMostTinyPasses));
}

}  // namespace

LinkTests::LinkTests(comm::ControlGroup& control, TestedGroup group, kernels::Device& device,
                     std::function<double()> preempted_s, double deadline_s)
    : control_(control), group_(std::move(group)), preempted_s_(std::move(preempted_s)) {
  comm::Communicator* communicator = group_.communicator;
  if (!communicator) return;
  rounds_ = probe_rounds(*communicator);
  probe_.emplace(*communicator, device, deadline_s);
}

std::vector<LinkTime> LinkTests::run(const ValidationRequest& request, double seconds) {
  const int rounds = static_cast<int>(most([this] { return static_cast<double>(rounds_.size()); }));
  if (rounds == 0) return {};
  const double tiny_s = pass(kTinyProbeBytes);
  const int passes = tiny_passes(seconds, tiny_s);
  pass_tiny(passes - 1);
  const bool is_tensor = group_.kind == GroupKind::tensor;
  const ProbeBudget budget{.seconds = seconds - 2 * passes * tiny_s,
                           .rounds = rounds,
                           .exchange_s = tiny_s / (rounds * 2),
                           .bytes_per_s = is_tensor ? request.tensor_bytes_per_s : request.data_bytes_per_s};
  std::vector<double> mb = request.probe_mb;
  if (mb.size() == 1) mb.push_back(mb.front());  // one measurement convicts nobody
  std::vector<std::size_t> sizes = probe_sizes(mb, budget);
  if (sizes.empty()) {
    keep_named(request.suspects);
    sizes = {kSmallBytes, kSmallBytes};
  }
  if (pass_sizes(sizes, budget.seconds)) pass_tiny(passes);
  return std::move(times_);
}

std::vector<LinkTime> LinkTests::run_as(std::span<const std::size_t> sizes) {
  if (most([this] { return static_cast<double>(rounds_.size()); }) == 0) return {};
  pass_tiny(static_cast<int>(kFewTinyPasses));
  for (const std::size_t bytes : sizes) pass(bytes);
  pass_tiny(static_cast<int>(kFewTinyPasses));
  return std::move(times_);
}

// At the pace of the pass before, the next one gets an equal share of the time that is left.
bool LinkTests::pass_sizes(std::span<const std::size_t> sizes, double seconds) {
  double left_s = seconds, bytes_per_s = 0;
  for (std::size_t i = 0; i < sizes.size() && left_s > 0; ++i) {
    std::size_t bytes = sizes[i];
    if (i > 0) {
      const double share_s = left_s / static_cast<double>(sizes.size() - i);
      bytes = std::min(bytes, std::max(kSmallBytes, static_cast<std::size_t>(bytes_per_s * share_s)));
    }
    const double took_s = std::max(pass(bytes), kShortest_s);
    bytes_per_s = static_cast<double>(bytes) / took_s;
    left_s -= took_s;
  }
  return left_s > 0;
}

void LinkTests::pass_tiny(int passes) {
  for (int i = 0; i < passes; ++i) pass(kTinyProbeBytes);
}

double LinkTests::pass(std::size_t bytes) {
  if (bytes > kTinyProbeBytes) sizes_.push_back(bytes);
  const int pass = passes_++, times = bytes == kTinyProbeBytes ? 1 : kProbeTimes;
  return most([&] {
    if (rounds_.empty()) return 0.0;
    const comm::Stopwatch stopwatch;
    if (preempted_s_) preempted_s_();
    const std::vector<SentProbe> probes = probe_->run(rounds_, bytes, times);
    const double preempted_s = preempted_s_ ? preempted_s_() : 0;
    for (const SentProbe& sent : probes)
      times_.push_back({.group = group_.kind,
                        .from = rank_at(group_.communicator->rank()),
                        .to = rank_at(sent.peer),
                        .pass = pass,
                        .bytes = bytes,
                        .seconds = sent.seconds,
                        .preempted_s = preempted_s});
    return stopwatch.elapsed_s();
  });
}

void LinkTests::keep_named(const Suspects& suspects) {
  std::vector<int> places;
  const auto add = [&](int rank) {
    const auto found = std::find(group_.ranks.begin(), group_.ranks.end(), rank);
    if (found != group_.ranks.end()) places.push_back(static_cast<int>(found - group_.ranks.begin()));
  };
  for (const Component& component : suspects.components) {
    if (component.is_link() && component.group != group_.kind) continue;
    add(component.rank);
    if (component.is_link()) add(component.other);
  }
  if (!places.empty()) rounds_ = rounds_with(rounds_, places);
}

double LinkTests::most(const std::function<double()>& work) {
  double most = 0;
  for (const std::string& answer : comm::agreed_answers(control_, [&] { return std::to_string(work()); }))
    most = std::max(most, kernels::sent_number<double>(answer, "the seconds of a test"));
  return most;
}

}  // namespace tenax::resilience
