#include "resilience/effective_time/recorded_time.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "io/run/launch_events.hpp"
#include "resilience/replicas/ledger_store.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;
using io::LaunchEvent;

/// Those of the last launch that began without living replicas; nothing where the run has gone on without replicas since.
std::vector<LaunchEvent> events_of_launch(std::vector<LaunchEvent> events) {
  const auto launch = std::find_if(events.rbegin(), events.rend(), [](const LaunchEvent& event) {
    return event.event == "launch" && event.number("adopted") == 0;
  });
  if (launch == events.rend()) return {};
  const bool has_gone_on = std::any_of(launch.base(), events.end(), [](const LaunchEvent& event) {
    return event.event == "start" || event.event == "resume";
  });
  if (has_gone_on) return {};
  events.erase(events.begin(), std::prev(launch.base()));
  return events;
}

/// A replica that is given up is lost already.
bool is_loss(const LaunchEvent& event) {
  return event.event == "replica_lost" && event.reason != name_of(LossReason::given_up);
}

/// What the service had told; nothing for events that cost no time.
std::optional<ServiceEvent> service_event(const LaunchEvent& event) {
  const ReplicaId id{static_cast<int>(event.replica), static_cast<int>(event.incarnation)};
  if (is_loss(event)) return ReplicaLost{.id = id, .host = {}, .detect_s = event.number("detect_seconds")};
  if (event.event == "repeat")
    return StepRepeated{.step = event.step,
                        .kept_samples = static_cast<std::int64_t>(event.number("kept_samples")),
                        .missing_samples = static_cast<std::int64_t>(event.number("missing_samples"))};
  if (event.event == "replica_join")
    return ReplicaJoined{.id = id, .joined = {.held_s = event.number("wait_seconds")}};
  if (event.event == "checkpoint")
    return CheckpointSaved{.writer = id,
                           .saved = {.bytes = static_cast<std::int64_t>(event.number("bytes")),
                                     .seconds = event.number("seconds")}};
  if (event.event == "evaluation")
    return StepValidated{{.done = event.step, .loss = 0, .seconds = event.number("seconds")}};
  if (event.event == "wait" && event.reason == "service")
    return ServiceAwaited{.id = id, .seconds = event.number("seconds")};
  if (event.event == "wait") return MembersAwaited{.seconds = event.number("seconds")};
  return std::nullopt;
}

void follow(const LaunchEvent& event, ReplicaRows& replicas) {
  const int replica = static_cast<int>(event.replica);
  if (event.event == "replica_start") replicas.on_start(replica, event.time_s);
  if (is_loss(event)) replicas.on_lost(replica, event.time_s);
  if (event.event == "replica_join") replicas.on_join(replica, event.time_s);
}

double time_of(const Record& record) {
  return std::visit([](const auto& known) { return known.time; }, record);
}

bool is_of_epoch(const Record& record, std::int64_t number) {
  const auto* epoch = std::get_if<EpochRecord>(&record);
  return epoch && epoch->epoch == number;
}

/// The time up to which records come before `event`. Events are told in whole ms, so that of an epoch may seem to come
/// before its record, which it follows. `records`: those that have not been taken yet.
double time_of_records(const LaunchEvent& event, std::span<const Record> records) {
  if (event.event != "epoch") return event.time_s;
  const auto number = static_cast<std::int64_t>(event.number("epoch"));
  const auto record = std::find_if(records.begin(), records.end(),
                                   [&](const Record& known) { return is_of_epoch(known, number); });
  return record == records.end() ? event.time_s : std::max(event.time_s, time_of(*record));
}

}  // namespace

std::optional<RecordedTime> read_recorded_time(const fs::path& run_directory,
                                               EffectiveTime::Options options) {
  std::vector<LaunchEvent> events = events_of_launch(io::read_launch_events(run_directory));
  if (events.empty()) return std::nullopt;
  options.begin_s = events.front().time_s;
  RecordedTime recorded{.account = EffectiveTime(options)};
  const std::vector<Record> records = read_ledger(run_directory, options.begin_s);
  auto record = records.cbegin();
  const auto take_records_until = [&](double time_s) {
    for (; record != records.end() && time_of(*record) <= time_s; ++record) {
      recorded.account.take(*record);
      const auto* epoch = std::get_if<EpochRecord>(&*record);
      if (!epoch) continue;
      recorded.replicas.on_epoch(*epoch);
      recorded.epochs.push_back(epoch->time);
    }
  };
  for (const LaunchEvent& event : events) {
    take_records_until(time_of_records(event, std::span(record, records.cend())));
    if (const auto told = service_event(event)) recorded.account.take(*told, event.time_s);
    follow(event, recorded.replicas);
    recorded.has_ended = event.event == "end";
  }
  if (!records.empty()) take_records_until(std::max(events.back().time_s, time_of(records.back())));
  recorded.end_s = recorded.has_ended ? events.back().time_s : recorded.account.last_s();
  return recorded;
}

}  // namespace tenax::resilience
