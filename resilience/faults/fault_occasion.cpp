#include "resilience/faults/fault_occasion.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "io/posix_file.hpp"

namespace tenax::resilience {

FaultOccasion::FaultOccasion(const FaultWindow& window, std::filesystem::path marker)
    : window_(window), marker_(std::move(marker)) {}

// Of all that come to it at once, one makes the file.
bool FaultOccasion::comes(std::int64_t step, double run_s) const {
  if (!window_.holds_at(step, run_s)) return false;
  if (marker_.empty()) return true;
  const int file = open(marker_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) io::throw_file_error("write", marker_, {errno, std::generic_category()});
  close(file);
  return true;
}

}  // namespace tenax::resilience
