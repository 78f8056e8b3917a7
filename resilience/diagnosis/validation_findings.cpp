#include "resilience/diagnosis/validation_findings.hpp"

#include <algorithm>
#include <optional>

#include "resilience/diagnosis/link_comparison.hpp"
#include "resilience/diagnosis/product_comparison.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

bool has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool is_of_group(const Component& component) {
  return component.group == GroupKind::tensor || component.group == GroupKind::data;
}

/// What profiling says of the same part; null: nothing.
const Component* find(const Suspects& suspects, const Component& part) {
  const auto found = std::find_if(suspects.components.begin(), suspects.components.end(),
                                  [&](const Component& component) { return component.is_same_part(part); });
  return found == suspects.components.end() ? nullptr : &*found;
}

/// Named, or of a group whose links are suspect.
bool is_judged(const Suspects& suspects, int rank) {
  const bool is_named =
      std::any_of(suspects.components.begin(), suspects.components.end(), [rank](const Component& component) {
        if (!component.is_link()) return component.rank == rank;
        return is_of_group(component) && (component.rank == rank || component.other == rank);
      });
  return suspects.count() == 0 || is_named ||
         std::any_of(suspects.groups.begin(), suspects.groups.end(),
                     [rank](const SuspectGroup& group) { return has(group.ranks, rank); });
}

bool is_judged(const Suspects& suspects, const Component& link) {
  const auto joins = [&](const SuspectGroup& group) {
    return group.kind == link.group && has(group.ranks, link.rank) && has(group.ranks, link.other);
  };
  return suspects.count() == 0 || find(suspects, link) ||
         std::any_of(suspects.groups.begin(), suspects.groups.end(), joins);
}

std::optional<Component> judged_rank(const Suspects& suspects, const ProductComparison& products, int rank) {
  const Component* known = find(suspects, {.kind = Component::Kind::rank, .rank = rank});
  if (known && (known->cause == SlowCause::cpu_contention || !products.can_judge(rank))) return *known;
  if (!is_judged(suspects, rank)) return std::nullopt;
  std::optional<Component> slow = products.slow(rank);
  if (!slow || !known) return slow;
  Component confirmed = *known;
  confirmed.cause = slow->cause;
  return confirmed;
}

// Of NCCL's groups nobody can test a link.
bool is_tested(const SuspectGroup& group, const LinkComparison& links) {
  for (const int one : group.ranks)
    for (const int other : group.ranks)
      if (one < other && links.can_judge(one, other)) return true;
  return false;
}

std::vector<Component> judged_links(const Suspects& suspects, const LinkComparison& links, GroupKind kind) {
  std::vector<Component> components;
  for (const Component& known : suspects.components)
    if (known.is_link() && known.group == kind && !links.can_judge(known.rank, known.other))
      components.push_back(known);
  for (const SuspectGroup& group : suspects.groups)
    if (group.kind == kind && !is_tested(group, links))
      for (Component& link : links_round(group)) components.push_back(std::move(link));
  for (const Component& slow : links.slow()) {
    if (!links.can_judge(slow.rank, slow.other) || !is_judged(suspects, slow)) continue;
    const Component* known = find(suspects, slow);
    components.push_back(known ? *known : slow);
  }
  return components;
}

}  // namespace

ValidationFindings find_slow(const ValidationRequest& request, const std::vector<RankTests>& tests) {
  const Suspects& suspects = request.suspects;
  const ProductComparison products(tests, request.suspect);
  ValidationFindings findings;
  for (int rank = 0; rank < static_cast<int>(tests.size()); ++rank)
    if (const auto component = judged_rank(suspects, products, rank))
      findings.components.push_back(*component);
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data}) {
    const LinkComparison links(kind, tests, request.suspect);
    for (const Component& link : judged_links(suspects, links, kind)) findings.components.push_back(link);
  }
  for (const Component& component : suspects.components)
    if (component.is_link() && !is_of_group(component)) findings.components.push_back(component);
  findings.is_common = findings.components.empty() && (suspects.is_common || products.is_common());
  return findings;
}

}  // namespace tenax::resilience
