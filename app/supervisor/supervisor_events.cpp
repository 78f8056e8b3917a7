#include "app/supervisor/supervisor_events.hpp"

#include <algorithm>
#include <utility>

#include "app/units.hpp"

namespace tenax::app {

using io::JsonObject;

void SupervisorEvents::write(const std::string& name, std::optional<int> replica, const JsonObject& details) {
  io::RunEvent event{
      .step = steps_done_, .name = name, .replica = {}, .rank = {}, .host = {}, .details = details};
  if (replica) event.replica = *replica;
  file_.write(event);
}

void SupervisorEvents::write(io::RunEvent event) {
  event.step = steps_done_;
  file_.write(event);
}

void SupervisorEvents::write_of_host(const std::string& host, const std::string& name,
                                     const JsonObject& details) {
  file_.write(
      {.step = steps_done_, .name = name, .replica = {}, .rank = {}, .host = host, .details = details});
}

void SupervisorEvents::write_of_step(std::int64_t step, const std::string& name, std::optional<int> replica,
                                     const JsonObject& details) {
  io::RunEvent event{.step = step, .name = name, .replica = {}, .rank = {}, .host = {}, .details = details};
  if (replica) event.replica = *replica;
  file_.write(event);
}

void SupervisorEvents::take(const resilience::ReplicaLost& lost) {
  const bool is_earlier = std::any_of(earlier_.begin(), earlier_.end(), [&](const resilience::ReplicaId& id) {
    return id.replica == lost.id.replica && lost.id.incarnation <= id.incarnation;
  });
  if (is_earlier) return;
  write(lost);
  const std::string rank = lost.rank < 0 ? "" : format(", rank %d", lost.rank);
  console_.say(format("lost replica %d (%s%s) after step %lld", lost.id.replica,
                      resilience::name_of(lost.reason), rank.c_str(), static_cast<long long>(steps_done_)));
}

void SupervisorEvents::write(const resilience::ReplicaLost& lost) {
  io::RunEvent event{.name = "replica_lost",
                     .replica = lost.id.replica,
                     .rank = {},
                     .host = lost.host,
                     .details = JsonObject{}
                                    .add("incarnation", lost.id.incarnation)
                                    .add("reason", resilience::name_of(lost.reason))
                                    .add("detect_seconds", lost.detect_s)};
  if (lost.rank >= 0) event.rank = lost.rank;
  write(std::move(event));
}

void SupervisorEvents::take(const resilience::EpochBegan& began) {
  std::vector<std::int64_t> members;
  std::string text;
  for (const resilience::EpochMember& member : began.epoch.members) {
    members.push_back(member.id.replica);
    text += " " + std::to_string(member.id.replica) + (member.is_behind ? " (fetches state)" : "");
  }
  write("epoch", {},
        JsonObject{}
            .add("epoch", began.epoch.number)
            .add("members", members)
            .add("reconfigure_seconds", began.reconfigure_s));
  console_.say(format("epoch %lld from step %lld: replicas%s", static_cast<long long>(began.epoch.number),
                      static_cast<long long>(began.epoch.from_step), text.c_str()));
}

void SupervisorEvents::take(const resilience::StepRepeated& repeated) {
  write("repeat", {},
        JsonObject{}
            .add("kept_samples", repeated.kept_samples)
            .add("missing_samples", repeated.missing_samples)
            .add("stall_seconds", repeated.stall_s));
}

void SupervisorEvents::take(const resilience::StepsVoided& voided) {
  write("void", {},
        JsonObject{}.add("void_from", voided.void_from).add("reason", "no replica has their state"));
}

void SupervisorEvents::take(const resilience::MembersAwaited& awaited) {
  write("wait", {}, JsonObject{}.add("reason", "min_replicas").add("seconds", awaited.seconds));
}

void SupervisorEvents::take(const resilience::ServiceAwaited& awaited) {
  write("wait", awaited.id.replica, JsonObject{}.add("reason", "service").add("seconds", awaited.seconds));
}

void SupervisorEvents::take(const resilience::ReplicaObserved& observed) {
  const resilience::Observed& what = observed.observed;
  file_.write({.step = what.step,
               .name = what.event,
               .replica = observed.id.replica,
               .rank = {},
               .host = {},
               .details = JsonObject::of_text(what.details)});
}

void SupervisorEvents::take(const resilience::ReplicaJoined& joined, double age_s, double first_step_s) {
  write("replica_join", joined.id.replica,
        JsonObject{}
            .add("incarnation", joined.id.incarnation)
            .add("seconds", age_s)
            .add("stall_seconds", joined.stall_s)
            .add("first_step_seconds", first_step_s)
            .add("state_seconds", joined.joined.state_s)
            .add("wait_seconds", joined.joined.held_s)
            .add("state_bytes", joined.joined.bytes)
            .add("sources", joined.joined.sources));
}

}  // namespace tenax::app
