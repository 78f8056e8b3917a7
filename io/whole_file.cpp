#include "io/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <span>

#include "kernels/number_text.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

void sync_directory(const fs::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("open", directory, errno);
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result < 0 && errno == EINTR);
  const int code = result == 0 ? 0 : errno;
  ::close(descriptor);
  // Some network file systems have no fsync of directories: their renames are durable or nothing helps.
  if (code != 0 && code != EINVAL && code != ENOTSUP) throw_file_error("sync", directory, code);
}

std::string temporary_prefix(const fs::path& target) {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  return "." + target.filename().string() + ".tmp-" + host + "-";
}

/// Whether `name` is `prefix` and the number of a process that there is no more.
bool is_of_dead_process(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return false;
  const pid_t process = kernels::number_of<pid_t>(std::string_view(name).substr(prefix.size())).value_or(0);
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::error_code read_text_file(const fs::path& file, std::string& text, std::int64_t most_bytes) {
  text.clear();
  std::error_code failure;
  const int descriptor = open_regular_file(file, failure);
  if (failure) return failure;
  std::array<char, 1 << 16> block;
  ssize_t got = 0;
  while (!failure &&
         ((got = ::read(descriptor, block.data(), block.size())) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(text.size()) > most_bytes)
      failure = std::make_error_code(std::errc::file_too_large);
  }
  if (got < 0) failure = {errno, std::generic_category()};
  ::close(descriptor);
  if (failure) text.clear();
  return failure;
}

void write_file_atomically(const fs::path& file, std::string_view text) {
  AtomicFile beside(file);
  beside.file().write(std::as_bytes(std::span(text.data(), text.size())), 0);
  beside.publish();
}

void publish(const fs::path& temporary, const fs::path& target) {
  if (::rename(temporary.c_str(), target.c_str()) != 0) throw_file_error("write", target, errno);
  sync_directory(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

fs::path temporary_name(const fs::path& target) {
  return target.parent_path() / (temporary_prefix(target) + std::to_string(getpid()));
}

TemporaryPath TemporaryPath::beside(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_of_dead_process(entry.path().filename().string(), temporary_prefix(target)))
      fs::remove(entry.path(), ignored);
  return TemporaryPath(temporary_name(target));
}

TemporaryPath::~TemporaryPath() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

AtomicFile::AtomicFile(const fs::path& target)
    : target_(target),
      temporary_(TemporaryPath::beside(target)),
      file_(PosixFile::create_for(temporary_.path(), target)) {}

void AtomicFile::publish() {
  file_.sync();
  io::publish(temporary_.path(), target_);
}

}  // namespace tenax::io
