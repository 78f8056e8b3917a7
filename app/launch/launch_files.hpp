// The files by which a supervisor, its successor and its replicas know of each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/replica_process.hpp"

namespace tenax::app {

/// RUNDIR/replica-K.
std::filesystem::path replica_directory(const std::filesystem::path& run_directory, int replica);

/// Those that there are, of all replicas that the run ever had.
std::vector<std::filesystem::path> replica_directories(const std::filesystem::path& run_directory);

/// Those of replicas whose last incarnation has left its outcome.
std::vector<std::filesystem::path> ended_replica_directories(const std::filesystem::path& run_directory);

/// RUNDIR/spare-K: of the K-th warm spare, until it takes a replica's place.
std::filesystem::path spare_directory(const std::filesystem::path& run_directory, int spare);

/// A start's folder in the memory of its host, for Open MPI's files and the recorders of its ranks; it goes with the start.
/// `seat`: "0" for replica 0, "spare-0".
std::filesystem::path scratch_directory(const std::string& run_id, const std::string& seat,
                                        std::int64_t incarnation);

/// Removes what incarnations of the seat, or of all where none is named, have left there on this host, but for `kept`.
void remove_scratch_directories(const std::string& run_id, const std::string& seat,
                                const std::filesystem::path& kept = {});

/// It can be one that scratch_directory() returns.
bool is_scratch(const std::filesystem::path& folder);

/// Of all replicas and spares of a run that has ended: they hold its secret.
void remove_join_files(const std::filesystem::path& run_directory);

/// What a replica's checkpoints are called by until they have their place.
std::string checkpoint_writer(int replica, std::int64_t incarnation);

/// replica-K/join, spare-K/join, mode 0600: what the ranks of a replica need to take part in the run.
struct JoinFile {
  std::string run_id;                    ///< of the run, 16 hexadecimal digits
  std::string secret;                    ///< hexadecimal
  std::string deck;                      ///< path of the resolved deck
  std::string build;                     ///< Build::text() of the run
  std::string resume;                    ///< run.resume for this start: what state to begin with
  static constexpr int kNoReplica = -2;  ///< of a warm spare: no fault is injected into one
  int replica = 0;
  std::int64_t incarnation = 0;
  int spare = -1;               ///< the number of a warm spare, which is no replica yet; −1: it is none
  std::vector<int> slots = {};  ///< ReplicaCommand::slots() of this start
  int replicas_on_host = 1;     ///< that share the cores of one of its hosts, itself included: the most
  std::vector<std::string> service = {};  ///< addresses of the membership service, with its identity

  bool is_spare() const { return spare >= 0; }
  /// As scratch_directory() has it.
  std::string seat() const { return is_spare() ? "spare-" + std::to_string(spare) : std::to_string(replica); }
  /// Both are of one incarnation: the file of a replica is rewritten for its next one, and where the service moves.
  bool is_of_same_start(const JoinFile& other) const {
    return run_id == other.run_id && incarnation == other.incarnation;
  }
  std::string text() const;
  void write(const std::filesystem::path& file) const;
  /// What write() wrote to `file`, as text. Throws Error(rank) for anything else.
  static JoinFile parse(const std::string& text, const std::filesystem::path& file);
  /// Throws Error(rank) where it is absent or no such file.
  static JoinFile read(const std::filesystem::path& file);
};

/// replica-K/outcome: how an incarnation ended, in the words of its rank 0. The status of mpirun or
/// srun says little.
struct Outcome {
  std::int64_t incarnation = 0;
  int status = 0;
  std::string reason;
  /// It is a fault of the deck, the data, a directory or the rank itself, and not of who it is connected with.
  bool is_own = false;

  void write(const std::filesystem::path& file) const;
  /// Nothing where it is absent or no such file.
  static std::optional<Outcome> read(const std::filesystem::path& file);
};

/// What a remote mpirun has said in `file` (ReplicaCommand::process_file); nothing where it has not yet.
std::optional<ProcessId> read_remote_process(const std::filesystem::path& file);

/// RUNDIR/launch.json: the processes of the run.
struct LaunchFile {
  struct Process {
    std::string host;
    ProcessId id;
  };
  struct Replica {
    int replica = 0;
    std::int64_t incarnation = 0;
    Process process;                      ///< its mpirun or srun, or the remote shell that has started it
    std::string scratch = {};             ///< scratch_directory() of its start
    std::vector<std::string> hosts = {};  ///< "NAME:SLOTS", as the deck has them; none: it is anywhere
    std::optional<Process> mpirun = {};   ///< that a remote shell has started
  };
  Process supervisor;
  std::vector<Replica> replicas;
  std::string service;  ///< "host:port"

  void write(const std::filesystem::path& file) const;
  /// Nothing where it is absent or no such file.
  static std::optional<LaunchFile> read(const std::filesystem::path& file);
};

}  // namespace tenax::app
