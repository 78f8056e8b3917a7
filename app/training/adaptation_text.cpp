#include "app/training/adaptation_text.hpp"

#include "app/units.hpp"

namespace tenax::app {

using resilience::AdaptationEvent;
using resilience::AdaptationKind;

namespace {

std::string whom(const AdaptationEvent& event) {
  if (event.data >= 0) {
    AdaptationEvent alone = event;
    alone.data = -1;
    return format("pipeline %d: ", event.data) + whom(alone);
  }
  if (event.link >= 0) return format("link %d-%d", event.link, event.link + 1);
  if (event.stage >= 0) return format("stage %d", event.stage);
  return "the pipeline";
}

/// A link that flaps is told to be one.
std::string hold(const AdaptationEvent& event) {
  if (event.hold_steps == 0) return "";
  return format(", and stays there until it was well for %d steps, as it keeps going back and forth",
                event.hold_steps);
}

bool broke(const AdaptationEvent& event) { return event.direct_messages + event.delegated_messages > 0; }

std::string what(const AdaptationEvent& event) {
  const double delay_ms = event.delay_s * kMsPerSecond;
  switch (event.kind) {
    case AdaptationKind::straggler:
      return format("is slow: %.3g ms", delay_ms);
    case AdaptationKind::delegate:
      if (broke(event))
        return format("goes over delegates: its direct path failed after %d of %d messages",
                      event.direct_messages, event.direct_messages + event.delegated_messages) +
               hold(event);
      return format("goes over delegates: %.3g ms", delay_ms) + hold(event);
    case AdaptationKind::direct:
      return "goes direct again";
    case AdaptationKind::reschedule:
      break;
  }
  return "runs another schedule";
}

}  // namespace

std::string adaptation_line(const AdaptationEvent& event) {
  std::string line = format("step %lld: ", static_cast<long long>(event.step)) + whom(event) + " ";
  if (event.achieved_s)
    return line + format("(%s): %.4g ms an iteration, predicted %.4g ms", name_of(event.kind),
                         *event.achieved_s * kMsPerSecond, event.predicted_s * kMsPerSecond);
  line += what(event);
  if (event.predicted_s > 0)
    line += format("; an iteration took %.4g ms, from now on %.4g ms expected", event.before_s * kMsPerSecond,
                   event.predicted_s * kMsPerSecond);
  return line;
}

io::JsonObject adaptation_details(const AdaptationEvent& event) {
  io::JsonObject details;
  if (event.data >= 0) details.add("data", event.data);
  if (event.link >= 0) details.add("stages", std::vector<double>{1.0 * event.link, event.link + 1.0});
  if (event.stage >= 0) details.add("stage", event.stage);
  if (broke(event))
    details.add("reason", "direct path failed")
        .add("direct_messages", event.direct_messages)
        .add("delegated_messages", event.delegated_messages);
  if (event.hold_steps > 0) details.add("hold_steps", event.hold_steps);
  if (event.delay_s > 0) details.add("measured_delay_ms", event.delay_s * kMsPerSecond);
  if (event.before_s > 0) details.add("measured_iteration_ms", event.before_s * kMsPerSecond);
  if (event.predicted_s > 0) details.add("predicted_iteration_ms", event.predicted_s * kMsPerSecond);
  if (event.achieved_s) details.add("achieved_iteration_ms", *event.achieved_s * kMsPerSecond);
  return details;
}

}  // namespace tenax::app
