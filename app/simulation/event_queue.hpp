// EventQueue: what happens next in virtual time.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace tenax::app {

/// Something that happens to `subject` (a replica, a place). `token`: what the subject was about when this was planned;
/// where it is about something else by now, the event is of no interest any more.
template <class Kind>
struct TimedEvent {
  double time_s = 0;
  Kind kind = {};
  int subject = 0;
  std::int64_t token = 0;
  std::uint64_t order = 0;
};

/// Events of a moment come in the order in which they were planned. One thread.
template <class Kind>
class EventQueue {
 public:
  void plan(TimedEvent<Kind> event) {
    event.order = planned_++;
    events_.push(event);
  }
  /// There is one.
  TimedEvent<Kind> take() {
    const TimedEvent<Kind> next = events_.top();
    events_.pop();
    return next;
  }
  double next_s() const { return events_.top().time_s; }
  bool is_empty() const { return events_.empty(); }

 private:
  struct Later {
    bool operator()(const TimedEvent<Kind>& a, const TimedEvent<Kind>& b) const {
      return a.time_s != b.time_s ? a.time_s > b.time_s : a.order > b.order;
    }
  };
  std::priority_queue<TimedEvent<Kind>, std::vector<TimedEvent<Kind>>, Later> events_;
  std::uint64_t planned_ = 0;
};

}  // namespace tenax::app
