// StopSignals: SIGUSR1 and SIGTERM as a question that the loop asks at step boundaries.
#pragma once

#include <atomic>
#include <thread>

namespace tenax::app {

/// Blocks both signals for the whole process (create it before any thread starts) and takes them
/// from a descriptor, so that no handler runs in the middle of anything.
class StopSignals {
 public:
  /// Holds both signals back from now on, until a StopSignals takes those that came meanwhile. A
  /// training process does so before anything else: until then a signal ends it.
  static void hold();
  /// Undoes hold(): those that came meanwhile arrive.
  static void release();
  /// `by_sigterm` false: SIGTERM is taken, and asks for nothing. mpirun and Slurm send it to the rest of a
  /// replica that dies.
  explicit StopSignals(bool by_sigterm = true);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// True once a signal has come; stays true.
  bool requested();
  /// Whether SIGTERM has come to this process, asked for or not. Any thread.
  static bool is_terminated();
  /// Whether a signal that is held back asks this process to stop or end, and nobody has taken it yet.
  static bool is_pending();

 private:
  int descriptor_ = -1;
  bool by_sigterm_;
  bool requested_ = false;
};

/// While it lives, SIGTERM ends this process with status 1, within 0.1 s. For calls that nobody can interrupt: MPI_Init waits
/// for ever for a rank that has died.
class EndBySigterm {
 public:
  EndBySigterm();
  ~EndBySigterm();
  EndBySigterm(const EndBySigterm&) = delete;
  EndBySigterm& operator=(const EndBySigterm&) = delete;

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace tenax::app
