#include "resilience/faults/bit_flips.hpp"

#include <bit>
#include <optional>

#include "kernels/error.hpp"
#include "kernels/random.hpp"

namespace tenax::resilience {
namespace {

using io::FlippedPart;

constexpr std::uint64_t kWordBits = 32;

float* data_of(const FlipTarget& target, FlippedPart part) {
  if (part == FlippedPart::own_sum) return target.own_sum;
  if (part == FlippedPart::sum) return target.sum;
  if (part == FlippedPart::weight) return target.range.weights();
  const std::string group = io::moment_group(part == FlippedPart::exp_avg ? "exp_avg" : "exp_avg_sq");
  for (const io::StatePart& moment : target.range.parts)
    if (moment.group == group) return moment.data;
  return nullptr;
}

/// Calls visit(target, run) for what the rank holds of the tensor, padding left out.
template <class Visit>
void for_each_run(const std::vector<FlipTarget>& targets, const std::string& tensor, Visit visit) {
  for (const FlipTarget& target : targets) {
    const io::StateRange& range = target.range;
    if (range.name != tensor) continue;
    range.layout.for_each_run(range.local_begin, range.local_begin + range.count,
                              [&](const kernels::ShardLayout::Run& run) { visit(target, run); });
  }
}

/// An element of the tensor that the rank holds; −1 where it holds none.
std::int64_t drawn_element(const std::vector<FlipTarget>& targets, const BitFlipRequest& request,
                           std::uint64_t draw) {
  std::int64_t count = 0, element = -1;
  for_each_run(targets, request.tensor, [&](const FlipTarget&, const auto& run) { count += run.count; });
  if (count == 0) return -1;
  auto left = static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(count));
  for_each_run(targets, request.tensor, [&](const FlipTarget&, const auto& run) {
    if (element < 0 && left < run.count) element = run.logical_begin + left;
    left -= run.count;
  });
  return element;
}

float* find_word(const std::vector<FlipTarget>& targets, const BitFlipRequest& request,
                 std::int64_t element) {
  float* word = nullptr;
  for_each_run(targets, request.tensor, [&](const FlipTarget& target, const auto& run) {
    const std::int64_t offset = element - run.logical_begin;
    float* const data = data_of(target, request.part);
    if (data && offset >= 0 && offset < run.count)
      word = data + (run.local_begin - target.range.local_begin + offset);
  });
  return word;
}

}  // namespace

BitFlips::BitFlips(const std::vector<BitFlipRequest>& requests, const std::vector<FlipTarget>& targets,
                   const FaultSeat& seat) {
  for (const BitFlipRequest& request : requests) {
    const std::uint64_t draw = kernels::mixed(request.seed + static_cast<std::uint64_t>(request.entry));
    const std::int64_t element =
        request.element >= 0 ? request.element : drawn_element(targets, request, draw);
    float* const word = find_word(targets, request, element);
    if (!word)
      throw kernels::Error(kernels::Scope::job,
                           "inject." + std::to_string(request.entry) + ": rank " + std::to_string(seat.rank) +
                               " of replica " + std::to_string(seat.replica) + " does not hold " +
                               (element < 0 ? "any element" : "element " + std::to_string(element)) + " of " +
                               request.tensor);
    const auto bit =
        request.bit >= 0 ? static_cast<std::uint64_t>(request.bit) : kernels::mixed(draw) % kWordBits;
    flips_.push_back({.occasion = fault_occasion(request.entry, request.window, request.repeats, seat),
                      .part = request.part,
                      .word = word,
                      .bit = static_cast<int>(bit)});
  }
}

void BitFlips::strike(const Flip& flip) const {
  if (clock_.step() < 0 || !flip.occasion.comes(clock_.step(), clock_.run_s())) return;
  *flip.word = std::bit_cast<float>(std::bit_cast<std::uint32_t>(*flip.word) ^ (1U << flip.bit));
}

void BitFlips::strike_state() {
  for (const Flip& flip : flips_)
    if (flip.part != FlippedPart::own_sum && flip.part != FlippedPart::sum) strike(flip);
}

void BitFlips::strike_own_sums(const float* begin, std::int64_t count) {
  for (const Flip& flip : flips_)
    if (flip.part == FlippedPart::own_sum && flip.word >= begin && flip.word < begin + count) strike(flip);
}

void BitFlips::strike_sums() {
  for (const Flip& flip : flips_)
    if (flip.part == FlippedPart::sum) strike(flip);
}

}  // namespace tenax::resilience
