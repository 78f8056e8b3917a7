// EpochChange: a change of the epoch under way: who has been asked, and what they answered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/seats.hpp"
#include "resilience/membership/service_messages.hpp"

namespace tenax::resilience {

class EpochChange {
 public:
  enum class Kind {
    none,
    hold,   ///< members go on to an agreed step and wait there: nothing is interrupted
    freeze  ///< members stop at once
  };

  Kind kind() const { return kind_; }
  double began_s() const { return began_s_; }
  /// When the first member waited for the decision.
  double waited_since(double now) const { return first_report_s_.value_or(now); }

  /// Each begins a change of its own number. The answers that an earlier one got do not count.
  Freeze begin_freeze(std::int64_t epoch, double now);
  /// `step`: the first that nobody is known to have begun. Each further attempt in a row asks for a
  /// later one, twice as far ahead: steps may be shorter than the way of a message.
  Hold begin_hold(std::int64_t epoch, std::int64_t step, std::int64_t train_steps, double now);
  Resume resume();
  /// The epoch has been decided.
  void finish();

  /// Ignores answers to other changes.
  void take(int replica, const Report& report, double now);
  bool is_current(std::int64_t change) const { return kind_ != Kind::none && change == number_; }
  /// Null where `replica` has not answered.
  const Report* report_of(int replica) const;
  /// A Freeze must be answered within `wait_s`; a Hold when its step comes.
  bool is_late(double now, double wait_s) const { return kind_ == Kind::freeze && now - asked_s_ > wait_s; }
  void shift(double seconds);

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(kind_, number_, holds_, reports_);
  }

 private:
  void begin(Kind kind, double now);

  Kind kind_ = Kind::none;
  std::int64_t number_ = 0;
  int holds_ = 0;  // in a row
  double began_s_ = 0, asked_s_ = 0;
  std::optional<double> first_report_s_;
  std::map<int, Report> reports_;  // by replica
};

}  // namespace tenax::resilience
