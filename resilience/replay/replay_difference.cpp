#include "resilience/replay/replay_difference.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

/// A checksum that differs.
struct Place {
  std::size_t rank = 0, tensor = 0, part = 0;
};

void check_alike(std::span<const ReplayRecord> first, std::span<const ReplayRecord> second) {
  const auto is_like = [](const ReplayRecord& a, const ReplayRecord& b) {
    return a.rank.rank == b.rank.rank && a.rank.stage == b.rank.stage && a.rank.tensors == b.rank.tensors &&
           a.rank.parts == b.rank.parts && a.moments.size() == b.moments.size();
  };
  if (std::equal(first.begin(), first.end(), second.begin(), second.end(), is_like)) return;
  throw kernels::Error(kernels::Scope::rank, "the two runs have not recorded the same steps");
}

std::vector<Place> places_at(std::size_t moment, std::span<const ReplayRecord> first,
                             std::span<const ReplayRecord> second) {
  std::vector<Place> places;
  for (std::size_t r = 0; r < first.size(); ++r) {
    const auto &a = first[r].moments[moment].sums, &b = second[r].moments[moment].sums;
    const std::size_t parts = first[r].rank.parts.size();
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) places.push_back({r, i / parts, i % parts});
  }
  return places;
}

/// How early in the moment: smaller is earlier. The tied embedding's gradient is complete last, on both its stages.
auto order_of(const Place& place, const ReplayRank& rank, ReplayPoint point) {
  const std::string& part = rank.parts[place.part];
  const bool is_gradient = part == "gradient", is_copy = part == "copy";
  const bool is_tied = is_gradient && rank.tensors[place.tensor] == "wte.weight";
  const auto stage = is_tied ? 0 : static_cast<std::int64_t>(rank.stage);
  const auto tensor = is_tied ? 0 : static_cast<std::int64_t>(place.tensor);
  const bool comes_after = point == ReplayPoint::update ? is_gradient : is_copy;
  return std::tuple(comes_after, is_gradient ? -stage : stage, is_gradient ? -tensor : tensor, place.rank,
                    place.part);
}

ReplayDifference describe(const std::vector<Place>& places, std::size_t moment,
                          std::span<const ReplayRecord> first, std::span<const ReplayRecord> second) {
  const ReplayPoint point = first.front().moments[moment].point;
  const auto order = [&](const Place& place) { return order_of(place, first[place.rank].rank, point); };
  const Place& earliest = *std::min_element(
      places.begin(), places.end(), [&](const Place& a, const Place& b) { return order(a) < order(b); });
  const ReplayRank& rank = first[earliest.rank].rank;
  std::set<std::string> tensors;
  std::set<std::size_t> ranks;
  for (const Place& place : places) {
    tensors.insert(first[place.rank].rank.tensors[place.tensor]);
    ranks.insert(place.rank);
  }
  return {.step = first.front().moments[moment].step,
          .point = point,
          .tensor = rank.tensors[earliest.tensor],
          .part = rank.parts[earliest.part],
          .layer = layer_of(rank.tensors[earliest.tensor]),
          .stage = rank.stage,
          .rank = rank.rank,
          .first_host = rank.host,
          .second_host = second[earliest.rank].rank.host,
          .tensors = static_cast<int>(tensors.size()),
          .ranks = static_cast<int>(ranks.size())};
}

}  // namespace

std::optional<ReplayDifference> find_difference(std::span<const ReplayRecord> first,
                                                std::span<const ReplayRecord> second) {
  check_alike(first, second);
  const std::size_t moments = first.empty() ? 0 : first.front().moments.size();
  for (std::size_t moment = 0; moment < moments; ++moment)
    if (const auto places = places_at(moment, first, second); !places.empty())
      return describe(places, moment, first, second);
  return {};
}

std::optional<std::int64_t> layer_of(const std::string& tensor) {
  std::string_view rest = tensor;
  if (kernels::take_word(rest, '.') != "h") return {};
  return kernels::number_of<std::int64_t>(kernels::take_word(rest, '.'));
}

}  // namespace tenax::resilience
