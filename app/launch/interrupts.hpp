// Interrupts: what a person or a batch system asks of a command that supervises other processes.
#pragma once

namespace tenax::app {

/// Holds SIGUSR1, SIGTERM, SIGHUP and SIGINT back from the whole process (create it before any thread
/// starts) and takes them from a descriptor, so that no handler runs in the middle of anything. A SIGHUP that the
/// process ignores, as under nohup, stays ignored.
class Interrupts {
 public:
  /// Throws Error(rank) where the operating system refuses.
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Those that came since the last call.
  struct Taken {
    bool any = false;
    bool second_sigint = false;  ///< one more than the first in the life of the process
  };
  Taken take();

 private:
  int descriptor_ = -1, sigints_ = 0;
};

}  // namespace tenax::app
