// The words that start a replica: mpirun here or on its own first host, or a step of srun.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/launch/host_list.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

enum class LaunchMethod { mpirun, srun };
/// `replicas.launcher`; "auto" is srun inside an allocation of Slurm.
LaunchMethod launch_method(const io::Deck& deck);
/// Replicas may run on several hosts: they and the service need addresses that others can reach.
bool spans_hosts(const io::Deck& deck);

struct ReplicaCommand {
  LaunchMethod method = LaunchMethod::mpirun;
  int ranks = 1;
  int threads = 1;                     ///< of a rank
  std::vector<HostSlots> hosts;        ///< empty: this machine, or the allocation
  std::string remote_shell;            ///< COMMAND HOST ARG…
  std::string program;                 ///< the path of tenax
  std::vector<std::string> arguments;  ///< of tenax; paths are absolute
  std::filesystem::path scratch;       ///< a directory of this start alone, for Open MPI's files of the host
  std::filesystem::path directory;     ///< where it is to run
  std::filesystem::path process_file = {};  ///< on all hosts: where a remote mpirun says which process it is
  std::vector<std::string> step_options = {};  ///< more for srun

  /// Program and arguments, without environment.
  std::vector<std::string> words() const;
  /// Of each rank, where ranks fill hosts in order: which slot of its host it has. Where the deck names no
  /// hosts, replicas are on one, in the order of their numbers.
  std::vector<int> slots(int replica) const;
  /// "NAME=value": what Open MPI is to know.
  std::vector<std::string> environment() const;
  /// Another host's mpirun starts it.
  bool is_remote() const { return method == LaunchMethod::mpirun && !hosts.empty(); }
  /// The words that run tenax with `arguments` on `host`, over the remote shell.
  std::vector<std::string> remote_call(const std::string& host,
                                       const std::vector<std::string>& arguments) const;

 private:
  std::vector<std::string> srun_words() const;
  std::vector<std::string> mpirun_words() const;
  std::vector<std::string> remote_words() const;
};

/// "NAME=value", by which processes of a start are known.
std::string scratch_variable(const std::filesystem::path& scratch);
/// In single quotes, for a POSIX shell.
std::string shell_quoted(const std::string& word);

}  // namespace tenax::app
