// RemoteEnd: ends what is left, on other hosts, of a replica that was started over a remote shell.
#pragma once

#include <filesystem>
#include <vector>

#include "app/launch/replica_command.hpp"
#include "app/launch/replica_process.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

/// SIGKILL to all other processes of this user on this host whose environment names `scratch`, as that of an mpirun does which
/// was started with it (ReplicaCommand::environment), and of its ranks. Those that are stopped too. Then removes `scratch`.
void end_processes(const std::filesystem::path& scratch);

/// A remote shell that is killed ends nothing on its host: that a rank stands still there keeps its memory, its GPU and the lock
/// of the replica's folder. Used by one thread. Destruction leaves what is under way.
class RemoteEnd {
 public:
  /// Calls end_processes() on each host of `replica`, as it was started. Does nothing where that was not over a remote shell.
  /// `log`: for what the shells say.
  RemoteEnd(const ReplicaCommand& replica, const std::filesystem::path& log);
  /// To be asked often: a host that does not answer within 10 s is left alone.
  bool is_over();

 private:
  std::vector<ReplicaProcess> shells_;
  kernels::Deadline latest_;
};

}  // namespace tenax::app
