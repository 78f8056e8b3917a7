#include "resilience/diagnosis/part_comparison.hpp"

#include <algorithm>
#include <limits>

namespace tenax::resilience {
namespace {

// A quarter of the values are no greater, rounded down: of up to four it is the least.
double lower_quartile(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 4);
  std::ranges::nth_element(values, place);
  return *place;
}

// Of sorted ones, at least one.
double lower_median(const std::vector<double>& values) { return values[(values.size() - 1) / 2]; }

}  // namespace

PartComparison::PartComparison(std::vector<PartFigure> parts, double suspect)
    : parts_(std::move(parts)), suspect_(suspect) {
  std::vector<double> growths;
  for (const PartFigure& part : parts_) {
    Level& level = level_of_work_[part.work];
    level.now_s.push_back(part.at_most_s());
    if (part.healthy_s <= 0) continue;
    level.healthy_s.push_back(part.healthy_s);
    if (part.now_s > 0 || part.most_s == 0) growths.push_back(growth(part));
  }
  for (auto& [work, level] : level_of_work_) {
    std::ranges::sort(level.now_s);
    std::ranges::sort(level.healthy_s);
  }
  if (growths.size() > 1) shared_growth_ = std::max(1.0, lower_quartile(growths));
}

double PartComparison::growth(const PartFigure& part) const {
  return part.now_s - part.healthy_s < part.floor_s ? 1 : part.now_s / part.healthy_s;
}

// What a healthy part of this work takes now; infinite if nothing tells.
double PartComparison::expected_s(const PartFigure& part) const {
  const Level& level = level_of_work_.at(part.work);
  double expected_s = std::numeric_limits<double>::infinity();
  if (level.now_s.size() > 1) expected_s = lower_median(level.now_s);
  if (!level.healthy_s.empty())
    expected_s = std::min(expected_s, lower_median(level.healthy_s) * shared_growth_);
  return expected_s;
}

bool PartComparison::is_suspect(std::size_t index) const {
  const PartFigure& part = parts_[index];
  const double expected_s = this->expected_s(part);
  const double own_s = part.healthy_s > 0 ? part.healthy_s * shared_growth_ : expected_s;
  return part.now_s > suspect_ * expected_s && part.now_s > (1 + suspect_) / 2 * own_s &&
         part.now_s - own_s >= part.floor_s;
}

double PartComparison::healthy_s(std::size_t part) const {
  constexpr double kLeast_s = 1e-6;  // what no clock tells from nothing
  return std::max(kLeast_s, parts_[part].healthy_s > 0 ? parts_[part].healthy_s : expected_s(parts_[part]));
}

bool PartComparison::is_common() const {
  if (shared_growth_ < suspect_) return false;
  for (std::size_t part = 0; part < parts_.size(); ++part)
    if (is_suspect(part)) return false;
  return true;
}

}  // namespace tenax::resilience
