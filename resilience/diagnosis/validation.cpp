#include "resilience/diagnosis/validation.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/deadline.hpp"
#include "resilience/diagnosis/link_tests.hpp"
#include "resilience/diagnosis/validation_findings.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

constexpr std::array kKinds = {GroupKind::tensor, GroupKind::data};

/// Whether links of such groups are to be tested: some are suspect, or nothing is named.
bool is_tested(const Suspects& suspects, GroupKind kind) {
  const auto is_suspect_group = [kind](const SuspectGroup& group) { return group.kind == kind; };
  const auto is_suspect_link = [kind](const Component& component) {
    return component.is_link() && component.group == kind;
  };
  return suspects.count() == 0 ||
         std::any_of(suspects.groups.begin(), suspects.groups.end(), is_suspect_group) ||
         std::any_of(suspects.components.begin(), suspects.components.end(), is_suspect_link);
}

/// The least over all ranks.
double agreed_least(comm::ControlGroup& control, double value) {
  std::array negative = {-value};
  control.all_reduce_max(negative);
  return -negative[0];
}

double link_seconds(const ValidationRequest& request, const comm::Communicator& group, GroupKind kind) {
  constexpr double kMegabyte = 1e6;
  const bool is_tensor = kind == GroupKind::tensor;
  const ProbeBudget budget{.rounds = static_cast<int>(probe_rounds(group).size()),
                           .bytes_per_s = is_tensor ? request.tensor_bytes_per_s : request.data_bytes_per_s};
  double seconds = 0;
  for (const double mb : request.probe_mb) seconds += probe_seconds(kMegabyte * mb, budget);
  return seconds;
}

std::vector<LinkTime> test_links(const ValidationRequest& request, const ValidationParts& parts,
                                 double until_s) {
  std::vector<GroupKind> kinds;
  std::copy_if(kKinds.begin(), kKinds.end(), std::back_inserter(kinds),
               [&](GroupKind kind) { return is_tested(request.suspects, kind); });
  std::vector<LinkTime> times;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const double left_s = agreed_least(parts.control, until_s - kernels::steady_now_s());
    LinkTests tests(parts.control,
                    {.kind = kinds[i],
                     .ranks = parts.grid.group(kinds[i], parts.control.rank()),
                     .communicator = parts.group(kinds[i])},
                    parts.device, parts.preempted_s, parts.deadline_s);
    const auto of_kind = tests.run(request, left_s / static_cast<double>(kinds.size() - i));
    times.insert(times.end(), of_kind.begin(), of_kind.end());
  }
  return times;
}

std::vector<std::string> tested_kinds(const std::vector<RankTests>& tests) {
  std::vector<std::string> names;
  for (const GroupKind kind : kKinds) {
    const auto is_of_kind = [kind](const LinkTime& time) { return time.group == kind; };
    if (std::any_of(tests.begin(), tests.end(), [&](const RankTests& rank) {
          return std::any_of(rank.links.begin(), rank.links.end(), is_of_kind);
        }))
      names.emplace_back(parallel::name_of(kind));
  }
  return names;
}

}  // namespace

double expected_seconds(const ValidationRequest& request, const ValidationParts& parts) {
  double seconds = parts.probe.healthy_seconds();
  for (const GroupKind kind : kKinds) {
    const comm::Communicator* group = parts.group(kind);
    if (group && is_tested(request.suspects, kind)) seconds += link_seconds(request, *group, kind);
  }
  return std::min(seconds, request.seconds);
}

ValidationResult validate(const ValidationRequest& asked, const ValidationParts& parts) {
  const double begin_s = kernels::steady_now_s();
  const ValidationRequest request = parse_validation_request(parts.control.broadcast(to_text(asked), 0));
  parts.control.all_gather({});  // who is tested beside ranks that still compute is slow
  RankTests mine;
  parts.control.agree([&] { mine.products = parts.probe.run(parts.preempted_s); });
  mine.links = test_links(request, parts, begin_s + request.seconds);
  std::vector<RankTests> tests;
  for (const std::string& text : parts.control.all_gather(to_text(mine)))
    tests.push_back(parse_rank_tests(text));
  ValidationFindings findings = find_slow(request, tests);
  return {.components = std::move(findings.components),
          .is_common = findings.is_common,
          .tested = tested_kinds(tests),
          .seconds = kernels::steady_now_s() - begin_s};
}

}  // namespace tenax::resilience
