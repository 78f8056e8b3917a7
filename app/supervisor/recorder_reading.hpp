// RecorderReading: what the recorders of a run's ranks hold, asked of the hosts on which they run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/launch/replica_command.hpp"
#include "app/launch/replica_process.hpp"
#include "io/posix_file.hpp"
#include "resilience/recorder/image_text.hpp"

namespace tenax::app {

/// Reads twice, a moment apart. Where some rank then neither waits nor computes, it may not have had a processor in that
/// moment: `read` is asked again, for half a second at most.
resilience::RecorderImages read_twice(const std::function<std::vector<resilience::RecorderImage>()>& read);
/// `tenax --recorders FOLDER…`, on a rank's host: prints an image of each recorder in the folders (image_lines), and once more
/// a moment later.
int print_recorders(const std::vector<std::string>& folders);
/// Of a folder on this host, in the order of ranks; what cannot be read is left out.
std::vector<resilience::RecorderImage> images_in(const std::filesystem::path& folder);
/// On this host.
resilience::ProcessState state_of_process(std::int64_t pid);

/// The commands that print the recorders of `replicas`, whose scratch is known: one for each host, by the remote shell, or
/// one step of srun for all of them.
std::vector<std::vector<std::string>> recorder_commands(const std::vector<ReplicaCommand>& replicas);

/// From construction on the commands run. Hosts that do not answer in time are left out. Used by one thread.
class RecorderReading {
 public:
  /// Seconds of the steady clock. Throws Error(rank) where a command cannot be started.
  RecorderReading(const std::vector<std::vector<std::string>>& commands, double deadline_s);
  ~RecorderReading();
  RecorderReading(const RecorderReading&) = delete;
  RecorderReading& operator=(const RecorderReading&) = delete;

  bool is_over(double now_s);
  /// Once it is over.
  resilience::RecorderImages images() const;

 private:
  const double deadline_s_;
  std::vector<ReplicaProcess> processes_;
  std::vector<io::PosixFile> printed_;  // by each of them
};

}  // namespace tenax::app
