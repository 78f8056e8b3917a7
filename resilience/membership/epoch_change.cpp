#include "resilience/membership/epoch_change.hpp"

#include <algorithm>

namespace tenax::resilience {

Freeze EpochChange::begin_freeze(std::int64_t epoch, double now) {
  begin(Kind::freeze, now);
  return {.change = number_, .epoch = epoch};
}

Hold EpochChange::begin_hold(std::int64_t epoch, std::int64_t step, std::int64_t train_steps, double now) {
  begin(Kind::hold, now);
  constexpr int kMostDoublings = 20;
  const std::int64_t ahead = (std::int64_t{1} << std::min(holds_++, kMostDoublings)) - 1;
  return {.change = number_, .epoch = epoch, .step = std::min(step + ahead, train_steps)};
}

Resume EpochChange::resume() {
  const Resume resume{.change = number_};
  finish();
  return resume;
}

void EpochChange::finish() {
  kind_ = Kind::none;
  holds_ = 0;
  reports_.clear();
  first_report_s_.reset();
}

void EpochChange::take(int replica, const Report& report, double now) {
  if (!is_current(report.change)) return;
  if (!first_report_s_) first_report_s_ = now;
  reports_[replica] = report;
}

const Report* EpochChange::report_of(int replica) const {
  const auto found = reports_.find(replica);
  return found == reports_.end() ? nullptr : &found->second;
}

void EpochChange::shift(double seconds) { asked_s_ += seconds; }

void EpochChange::begin(Kind kind, double now) {
  if (kind_ == Kind::none) began_s_ = now;
  kind_ = kind;
  ++number_;
  asked_s_ = now;
  reports_.clear();
  first_report_s_.reset();
}

}  // namespace tenax::resilience
