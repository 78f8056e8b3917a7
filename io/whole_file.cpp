#include "io/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <set>
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

constexpr char kTemporary[] = ".tmp-";

/// ".tmp-HOST-", behind which temporary names have the number of their process.
std::string mark_of_host() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  return std::string(kTemporary) + host + "-";
}

/// Whether `name` is a temporary one of this host, of a process that there is no more.
bool is_of_dead_process(const std::string& name) {
  const std::string mark = mark_of_host();
  const std::size_t at = name.rfind(mark);
  if (at == std::string::npos) return false;
  const pid_t process =
      kernels::number_of<pid_t>(std::string_view(name).substr(at + mark.size())).value_or(0);
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

void publish(const fs::path& temporary, const fs::path& target) { publish({{temporary, target}}); }

void publish(const std::vector<std::pair<fs::path, fs::path>>& targets_of_temporaries) {
  std::set<fs::path> folders;
  for (const auto& [temporary, target] : targets_of_temporaries) {
    if (::rename(temporary.c_str(), target.c_str()) != 0) throw_file_error("write", target, errno);
    folders.insert(folder_of(target));
  }
  for (const fs::path& folder : folders) sync_directory(folder);
}

fs::path temporary_name(const fs::path& target) {
  return target.parent_path() /
         ("." + target.filename().string() + mark_of_host() + std::to_string(getpid()));
}

std::string target_of_temporary(const std::string& name) {
  const std::size_t mark = name.rfind(kTemporary);
  if (!name.starts_with('.') || mark == std::string::npos) return {};
  const std::string target = name.substr(1, mark - 1), inner = target_of_temporary(target);
  return inner.empty() ? target : inner;
}

void remove_leftovers(const fs::path& folder, const std::function<bool(const std::string& target)>& is_one) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_of_dead_process(name) && is_one(target_of_temporary(name))) fs::remove(entry.path(), ignored);
  }
}

TemporaryPath TemporaryPath::beside(const fs::path& target) {
  remove_leftovers(folder_of(target),
                   [&](const std::string& name) { return name == target.filename().string(); });
  return TemporaryPath(temporary_name(target));
}

TemporaryPath::~TemporaryPath() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

AtomicFile::AtomicFile(const fs::path& target, const fs::path& later)
    : target_(target),
      temporary_(TemporaryPath::beside(target)),
      file_(PosixFile::create_for(temporary_.path(), later)) {}

std::pair<fs::path, fs::path> AtomicFile::sync() const {
  file_.sync();
  return {temporary_.path(), target_};
}

void AtomicFile::publish() {
  const auto [temporary, target] = sync();
  io::publish(temporary, target);
}

}  // namespace tenax::io
