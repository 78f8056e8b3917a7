// SupervisorEvents: what a supervisor writes into its run's events.jsonl, and prints of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "io/run/run_files.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// Used by one thread. Errors are kernels::Error(rank).
class SupervisorEvents {
 public:
  /// `console` must outlive it.
  SupervisorEvents(const std::string& run_directory, Console& console)
      : console_(console), file_(run_directory, [this] { return time_s_.value_or(io::unix_time_s()); }) {}
  SupervisorEvents(const SupervisorEvents&) = delete;
  SupervisorEvents& operator=(const SupervisorEvents&) = delete;

  /// The events to come happened at that UNIX time; without one, when they are written.
  void set_time(std::optional<double> time_s) { time_s_ = time_s; }

  /// False once the file has been removed or moved.
  bool is_in_place() { return file_.file().in_place(); }
  void restore() { file_.file().restore(); }
  /// Steps done, of the events to come.
  void set_steps_done(std::int64_t steps_done) { steps_done_ = steps_done; }
  /// Incarnations up to this one ended with an earlier start of the run: no loss of this one's.
  void ignore_up_to(resilience::ReplicaId id) { earlier_.push_back(id); }
  void write(const std::string& name, std::optional<int> replica, const io::JsonObject& details);
  /// All but the step is the caller's.
  void write(io::RunEvent event);
  /// Nothing is printed.
  void write(const resilience::ReplicaLost& lost);
  void write_of_host(const std::string& host, const std::string& name, const io::JsonObject& details);
  /// What is known of step `step`.
  void write_of_step(std::int64_t step, const std::string& name, std::optional<int> replica,
                     const io::JsonObject& details);

  void take(const resilience::ReplicaLost& lost);
  void take(const resilience::EpochBegan& began);
  void take(const resilience::StepRepeated& repeated);
  void take(const resilience::StepsVoided& voided);
  void take(const resilience::MembersAwaited& awaited);
  void take(const resilience::ServiceAwaited& awaited);
  void take(const resilience::ReplicaObserved& observed);
  /// `age_s`: since the replica was started. `first_step_s`: what the first step that has samples of it took longer.
  void take(const resilience::ReplicaJoined& joined, double age_s, double first_step_s);

 private:
  Console& console_;
  std::optional<double> time_s_;
  io::EventsWriter file_;
  std::int64_t steps_done_ = 0;
  std::vector<resilience::ReplicaId> earlier_;
};

}  // namespace tenax::app
