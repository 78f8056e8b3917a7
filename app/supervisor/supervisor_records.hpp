// SupervisorRecords: what a supervisor writes and prints of its run.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/console.hpp"
#include "app/supervisor/corrupt_events.hpp"
#include "app/supervisor/replica_watch.hpp"
#include "app/supervisor/supervisor_events.hpp"
#include "app/training/divergence.hpp"
#include "app/training/iteration_watch.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "io/run/tensorboard_writer.hpp"
#include "resilience/blame/culprits.hpp"
#include "resilience/blame/slow_ranks.hpp"
#include "resilience/effective_time/effective_time.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// The service's thread hands in, the supervisor's writes. Errors are kernels::Error(rank).
class SupervisorRecords {
 public:
  using News = std::variant<resilience::Record, resilience::ServiceEvent>;

  /// `steps_done`: before the first record. `time`: what is known of the launch. Deck and console must outlive it.
  SupervisorRecords(const io::Deck& deck, Console& console, std::int64_t steps_done,
                    resilience::EffectiveTime time);

  /// Incarnations up to this one ended with an earlier start of the run: no loss of this one's.
  void ignore_up_to(resilience::ReplicaId id) { events_.ignore_up_to(id); }
  /// A step of before this launch: metrics have it from now on, and nobody counts it as this launch's.
  void add_earlier(const resilience::CommitRecord& commit) { take(commit); }
  /// Metrics of so many steps count, and those of later ones are cut off.
  void go_back(std::int64_t steps_done);
  /// The next step began at that UNIX time, under an earlier supervisor.
  void continue_from(double time_s) { last_commit_s_ = time_s; }
  /// The launch begins after so many steps, whatever is known of them.
  void begin_after(std::int64_t steps_done) {
    set_steps_done(steps_done);
    last_commit_s_ = 0;
  }
  /// Any thread.
  void hand_in(News news);
  /// Writes what was handed in, and returns what has been written since the last call.
  std::vector<News> write();
  /// A replica has been started. What was handed in before, such as the loss of its last incarnation, is written first.
  void started(int replica, const io::JsonObject& details) {
    write_news();
    event("replica_start", replica, details);
  }
  void event(const std::string& name, std::optional<int> replica, const io::JsonObject& details) {
    events_.write(name, replica, details);
  }
  /// The same, of a step that need not be the last.
  void event_of_step(std::int64_t step, const std::string& name, std::optional<int> replica,
                     const io::JsonObject& details) {
    events_.write_of_step(step, name, replica, details);
  }
  /// Where the replicas run by the last epoch before this supervisor: nothing is written.
  void remember(const resilience::EpochRecord& epoch) { replicas_->take(epoch); }
  /// It was lost before, and is not started any more; it ran on `host`.
  void given_up(resilience::ReplicaId id, const std::string& host) {
    events_.write(resilience::ReplicaLost{id, host, resilience::LossReason::given_up});
  }
  void host_event(const std::string& name, const std::string& host, const io::JsonObject& details) {
    events_.write_of_host(host, name, details);
  }
  /// So many living replicas of an earlier supervisor have been taken over.
  void launch(std::int64_t adopted);
  /// Apart from the news, which do not know how old the replica is. Written with the first step that has samples of it, or
  /// when it is lost before.
  void join(const resilience::ReplicaJoined& joined, double age_s);
  /// The joins that have been written since the last call.
  std::vector<resilience::ReplicaJoined> take_joins();
  /// Apart from the news too, which do not know where replicas are.
  void corrupt(const resilience::StateCorrupt& corrupt, const CorruptPlace& place, const HostOfRank& host_of);
  /// The run ended at that UNIX time: prints its effective time, and returns it for the event.
  io::JsonObject end(double time_s);
  /// It had done all its steps with the last one that is recorded: writes the event.
  void complete();
  /// Writes what stood still, and who is to blame, into the replica's folder.
  void hang(int replica, const resilience::HangDump& dump, const resilience::Blame& blame);
  /// Steps have become slower than they were. True once for each time.
  bool take_onset() { return std::exchange(has_onset_, false); }
  /// The ranks that make them slow, the slowest first.
  void stragglers(const std::vector<resilience::RankTimes>& ranks);
  std::int64_t steps_done() const { return steps_done_; }
  /// False once metrics or events have been removed or moved: nobody finds what is added.
  bool are_in_place() { return metrics_->file().in_place() && events_.is_in_place(); }
  /// Makes such files again, with all that they had. Throws kernels::Error(rank).
  void restore();
  /// Why the run ends, where too many steps in a row were not finite.
  std::optional<std::string> divergence() const { return divergence_.complaint(); }

 private:
  void take(const resilience::CommitRecord& commit);
  void take(const resilience::EpochRecord& epoch);
  void take(const resilience::VoidRecord& gone);
  void take(const resilience::StepValidated& validated);
  void take(const resilience::ReplicaObserved& observed);
  void take(const resilience::ReplicaLost& lost);
  /// join(), corrupt(), RunCheckpoints and RunReplicas tell of these.
  void take(const resilience::StateCorrupt&) {}
  void take(const resilience::ReplicaJoined&) {}
  void take(const resilience::CheckpointSaved&) {}
  void take(const resilience::SpareSeen&) {}
  void take(const resilience::ReplicaSeen&) {}
  void take(const resilience::TooFewLeft&) {}
  template <class Event>
  void take(const Event& event) {
    events_.take(event);
  }
  void write_news();
  bool is_recorded(const resilience::ServiceEvent& event) const;
  template <class Test>
  void write_joins(const Test& is_due, double first_step_s);
  std::optional<resilience::ExpectedLevel> own_action(const resilience::CommitRecord& commit,
                                                      std::size_t contributing);
  std::string step_line(const io::TrainingMetrics& metrics) const;
  void open_files(std::int64_t steps_done);
  void watch_iterations(bool are_crowded);
  void set_steps_done(std::int64_t steps_done);

  const io::Deck& deck_;
  Console& console_;
  std::unique_ptr<io::MetricsWriter> metrics_;
  std::unique_ptr<io::TensorBoardWriter> tensorboard_;  // null where nobody wants it
  SupervisorEvents events_;
  std::optional<IterationWatch> watch_;   // since the first step, or since steps were void
  std::optional<ReplicaWatch> replicas_;  // likewise
  /// Of a step.
  struct Work {
    std::size_t replicas = 0;  ///< that contribute
    double share = 0;          ///< samples of one, on average

    bool operator==(const Work&) const = default;
  };
  Work work_;  // of the last unmasked step; no replicas: there was none yet
  std::int64_t steps_done_ = 0;
  Divergence divergence_;
  bool has_onset_ = false;
  bool are_crowded_ = false;          // the replicas that watch_ knows
  std::set<std::int64_t> validated_;  // steps done before each validation that is recorded
  double last_commit_s_ = 0;          // UNIX; 0: none since steps were void
  resilience::EffectiveTime time_;
  struct Join {
    resilience::ReplicaJoined joined;
    double age_s = 0;
  };
  std::vector<Join> joins_;                        // to be written
  std::vector<resilience::ReplicaJoined> joined_;  // written
  std::vector<News> written_;                      // nobody has been told of them yet
  bool has_failed_ = false;                        // some news could not be written: later ones are not
  struct Told {
    double time_s = 0;  // UNIX
    News news;
  };
  std::mutex mutex_;  // of what follows
  std::vector<Told> news_;
};

}  // namespace tenax::app
