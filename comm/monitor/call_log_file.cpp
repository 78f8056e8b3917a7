// The file is locked (flock) as long as its process lives, so that of two processes with one rank the second does not
// empty the first one's. Lines are written whole, many at a time.
#include "comm/monitor/call_log_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace tenax::comm::monitor {
namespace {

constexpr char kHeader[] = "seconds,call,bytes,ranks\n";
constexpr std::size_t kLongestLine = 160;  // a name of at most 64 characters, and three numbers

/// What the program was started with: RANK is torchrun's.
int started_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name); rank && *rank) return std::atoi(rank);
  return 0;
}

/// In MPI_COMM_WORLD while MPI is initialised. Else started_rank().
int process_rank() {
  int is_begun = 0, is_over = 0, rank = 0;
  PMPI_Initialized(&is_begun);
  PMPI_Finalized(&is_over);
  if (!is_begun || is_over) return started_rank();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

char* put(char* at, std::int64_t number) { return std::to_chars(at, at + 20, number).ptr; }

/// The fraction of a second, with its nine digits.
char* put_nanoseconds(char* at, std::int64_t nanoseconds) {
  for (int digit = 8; digit >= 0; --digit, nanoseconds /= 10)
    at[digit] = static_cast<char>('0' + nanoseconds % 10);
  return at + 9;
}

char* put(char* at, const CallRecord& record) {
  at = put(at, record.nanoseconds / 1'000'000'000);
  *at++ = '.';
  at = put_nanoseconds(at, record.nanoseconds % 1'000'000'000);
  *at++ = ',';
  const std::size_t length = strnlen(record.call, 64);
  std::memcpy(at, record.call, length);
  at += length;
  *at++ = ',';
  at = put(at, record.bytes);
  *at++ = ',';
  at = put(at, record.ranks);
  *at++ = '\n';
  return at;
}

}  // namespace

bool CallLogFile::find_directory() {
  const char* const named = std::getenv("TENAX_MONITOR_DIR");
  if (!named || !*named) return false;
  std::size_t length = 0;
  if (*named != '/' && getcwd(directory_, sizeof(directory_))) length = std::strlen(directory_);
  const int added =
      std::snprintf(directory_ + length, sizeof(directory_) - length, "%s%s", length ? "/" : "", named);
  return added > 0 && length + static_cast<std::size_t>(added) < sizeof(directory_);
}

bool CallLogFile::open() {
  const int length = std::snprintf(path_, sizeof(path_), "%s/rank-%d.csv", directory_, process_rank());
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof(path_)) return fails("its name is too long");
  mkdir(directory_, 0777);
  descriptor_ = ::open(path_, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return fails(std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fails("another process of this rank writes it");
  if (ftruncate(descriptor_, 0) != 0) return fails(std::strerror(errno));
  std::memcpy(text_, kHeader, sizeof(kHeader) - 1);
  return write_text(sizeof(kHeader) - 1);
}

bool CallLogFile::write(const CallRecord* records, std::size_t count) {
  char* at = text_;
  for (std::size_t i = 0; i < count; ++i) {
    at = put(at, records[i]);
    if (text_ + sizeof(text_) - at >= static_cast<std::ptrdiff_t>(kLongestLine)) continue;
    if (!write_text(static_cast<std::size_t>(at - text_))) return false;
    at = text_;
  }
  return write_text(static_cast<std::size_t>(at - text_));
}

bool CallLogFile::write_text(std::size_t characters) {
  for (const char* at = text_; characters;) {
    const ssize_t written = ::write(descriptor_, at, characters);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fails(std::strerror(errno));
    at += written;
    characters -= static_cast<std::size_t>(written);
  }
  return true;
}

void CallLogFile::close() {
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

bool CallLogFile::fails(const char* why) {
  dprintf(STDERR_FILENO, "libtenax_monitor.so: cannot log this process's calls to %s: %s\n", path_, why);
  close();
  return false;
}

}  // namespace tenax::comm::monitor
