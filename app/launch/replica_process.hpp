// ReplicaProcess: the mpirun (srun, remote shell) of one replica, as the supervisor sees it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::app {

/// A process of this host that cannot be taken for a later one with the same number.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks after the host's start: field 22 of /proc/PID/stat
  bool operator==(const ProcessId&) const = default;
};

/// Nothing if there is no such process (any more).
std::optional<ProcessId> identify_process(pid_t pid);
ProcessId this_process();
/// As /proc has it: 'R', 'S', 'T' = stopped, 'Z', …; nothing if there is no such process (any more).
std::optional<char> process_state(pid_t pid);

/// Outlives its supervisor: it has a session of its own, and its output goes to a file. Used by one
/// thread. Destruction leaves the process as it is.
class ReplicaProcess {
 public:
  struct Request {
    std::vector<std::string> words;        ///< the program, found in PATH, and its arguments
    std::vector<std::string> environment;  ///< "NAME=value", beside this process's own
    std::filesystem::path log;             ///< stdout and stderr are appended
  };
  /// Throws Error(rank) if it cannot be started.
  static ReplicaProcess start(const Request& request);
  /// One that an earlier supervisor has started; nothing if it is gone.
  static std::optional<ReplicaProcess> adopt(ProcessId id);

  const ProcessId& id() const { return id_; }
  /// Seconds since it was started.
  double age_s() const;
  /// Nothing while it runs; then its end, as waitpid() has it. Of an adopted one nobody learns more than that
  /// it is gone: 0.
  std::optional<int> end_status();
  /// To the process alone.
  void send(int signal);
  /// SIGKILL to all that is left of its session on this host, stopped processes too.
  void kill_session();

 private:
  ReplicaProcess(ProcessId id, bool is_child) : id_(id), is_child_(is_child) {}
  ProcessId id_;
  bool is_child_;
  std::optional<int> status_;
};

}  // namespace tenax::app
