// The lock is one of an open file description (fcntl's F_OFD_SETLK): it ends with the process, however that ends, and
// unlike a classic POSIX lock is not lost when another part of the process closes the same file. What the file says is for
// file systems without locks (and for messages):
//
//   {"host": "n1", "pid": 4711, "pid_start": 81234567, "job": "77", "restart": 0, "time": 1795000000.123,
//    "beats": true}
//
// The file is removed while it is still locked. Whoever opened it before and gets the lock afterwards holds a file that has
// no name any more, sees so, and tries again.
#include "io/run/directory_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "io/json.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

LockState set_lock(int descriptor) {
  struct flock lock = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return LockState::free;
  return errno == EAGAIN || errno == EACCES ? LockState::held : LockState::unknown;
}

LockState state_of_lock(int descriptor) {
  struct flock lock = whole_file();
  if (::fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return LockState::unknown;
  return lock.l_type == F_UNLCK ? LockState::free : LockState::held;
}

bool is_file(int descriptor, const fs::path& path) {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Nothing where the file is empty, or its writer was killed within it.
std::optional<LockOwner> read_owner(const PosixFile& file) {
  std::string text(4096, '\0');
  const ssize_t bytes = ::pread(file.descriptor(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return {};
  try {
    LockOwner owner;
    owner.host = object.at("host").get<std::string>();
    owner.pid = object.at("pid").get<std::int64_t>();
    owner.pid_start = object.at("pid_start").get<std::int64_t>();
    owner.job = object.at("job").get<std::string>();
    owner.restart = object.at("restart").get<std::int64_t>();
    owner.time_s = object.at("time").get<double>();
    owner.beats = object.value("beats", false);
    return owner;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

void write_owner(const PosixFile& file, const LockOwner& owner) {
  const std::string text = JsonObject()
                               .add("host", owner.host)
                               .add("pid", owner.pid)
                               .add("pid_start", owner.pid_start)
                               .add("job", owner.job)
                               .add("restart", owner.restart)
                               .add("time", owner.time_s)
                               .add("beats", owner.beats)
                               .text() +
                           "\n";
  file.write(std::as_bytes(std::span(text)), 0);
}

/// Where an open file has been moved to; some name that is no file's if it has none.
fs::path present_name(int descriptor) {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored);
}

void refuse_if_taken(const fs::path& directory, LockState state, const std::optional<LockOwner>& owner) {
  const std::string obstacle = lock_obstacle(directory, state, owner, LockOwner::this_process());
  if (!obstacle.empty()) throw Error(Scope::rank, obstacle);
}

/// The file of a directory's lock; nothing where it has none.
std::optional<PosixFile> open_lock(const fs::path& directory, int access) {
  const fs::path file = directory / kLockFile;
  const int descriptor = ::open(file.c_str(), access | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return {};
  return PosixFile::adopt(descriptor, file);
}

}  // namespace

DirectoryLock::DirectoryLock(fs::path directory, Use use) : directory_(std::move(directory)), use_(use) {
  take();
}

DirectoryLock::~DirectoryLock() {
  if (in_place()) ::unlink(file().c_str());
  std::error_code ignored;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made)
    fs::remove(*made, ignored);  // if it is empty
}

bool DirectoryLock::in_place() const { return lock_ && is_file(lock_->descriptor(), file()); }

void DirectoryLock::renew() {
  if (in_place()) return;
  if (lock_) {
    const fs::path moved_to = present_name(lock_->descriptor());
    if (is_file(lock_->descriptor(), moved_to)) ::unlink(moved_to.c_str());
    beat_.reset();
    lock_.reset();
  }
  take();
}

void DirectoryLock::fail(const std::string& what) const {
  const bool is_run = use_ == Use::run;
  throw Error(Scope::rank, (is_run ? "run directory " : "checkpoint directory ") + directory_.string() +
                               ": " + what + "; make it writable or choose another with " +
                               (is_run ? "run.output_dir" : "checkpoint.dir"));
}

void DirectoryLock::fail(const std::string& what, int code) const {
  fail(what + ": " + std::generic_category().message(code));
}

std::error_code DirectoryLock::make_directory() {
  std::error_code error;
  std::vector<fs::path> absent;
  for (fs::path at = directory_; !at.empty() && !fs::exists(at, error) && !error; at = at.parent_path())
    absent.push_back(at);
  fs::create_directories(directory_, error);
  if (error) fail_of_link(absent);
  if (error && error.value() != ENOENT) fail("cannot create", error.value());
  made_.insert(made_.end(), absent.rbegin(), absent.rend());
  return error;
}

// As where a scratch file system is not mounted.
void DirectoryLock::fail_of_link(const std::vector<fs::path>& absent) const {
  std::error_code ignored;
  for (const fs::path& at : absent)
    if (fs::is_symlink(at, ignored))
      fail(at.string() + " is a link to " + fs::read_symlink(at, ignored).string() + ", which is not there");
}

void DirectoryLock::take() {
  // Each is lost to a process that starts or ends at the same moment, or that is still removing the directory.
  constexpr int kAttempts = 100;
  constexpr std::chrono::milliseconds kPause{10};
  std::error_code error;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    error = make_directory();
    if (try_to_take()) return;
  }
  if (error) fail("cannot create", error.value());
  fail("cannot lock", EAGAIN);
}

bool DirectoryLock::try_to_take() {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  int descriptor = ::open(file().c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  const bool created = descriptor >= 0;
  const bool was_there = !created && errno == EEXIST;
  if (was_there) descriptor = ::open(file().c_str(), kFlags);
  if (descriptor < 0 && errno == ENOENT) {
    std::error_code ignored;
    if (was_there || !fs::exists(directory_, ignored)) return false;
    errno = ENOENT;
  }
  if (descriptor < 0) fail("cannot write " + file().string(), errno);
  PosixFile opened = PosixFile::adopt(descriptor, file());
  const LockState state = set_lock(descriptor);
  if (!created || state == LockState::held) refuse_if_taken(directory_, state, read_owner(opened));
  if (!created &&
      state == LockState::unknown) {  // a dead process' file: the first to make a new one has the directory
    ::unlink(file().c_str());
    return false;
  }
  if (!is_file(descriptor, file())) return false;
  LockOwner me = LockOwner::this_process();
  me.beats = true;
  if (::ftruncate(descriptor, 0) != 0) fail("cannot lock", errno);
  write_owner(opened, me);
  lock_.emplace(std::move(opened));
  beat_.emplace(lock_->descriptor(), kLockBeat_s);
  return true;
}

std::optional<DirectoryLock::Look> DirectoryLock::look(const PosixFile& opened, LockState state) {
  struct stat file;
  if (::fstat(opened.descriptor(), &file) != 0) return {};
  return Look{.state = state,
              .owner = read_owner(opened),
              .file = file.st_ino,
              .changed_ns = file.st_mtim.tv_sec * std::int64_t{1'000'000'000} + file.st_mtim.tv_nsec};
}

std::optional<DirectoryLock::Look> DirectoryLock::look_at(const fs::path& directory) {
  const auto opened = open_lock(directory, O_RDONLY);
  return opened ? look(*opened, state_of_lock(opened->descriptor())) : std::nullopt;
}

void DirectoryLock::check_free(const fs::path& directory) {
  if (const auto lock = look_at(directory)) refuse_if_taken(directory, lock->state, lock->owner);
}

// It is locked meanwhile: who removes another process' new file instead has not got this one's lock.
void DirectoryLock::discard(const fs::path& directory, const Look* as_seen) {
  const auto opened = open_lock(directory, O_RDWR);
  if (!opened) return;
  const LockState state = set_lock(opened->descriptor());
  const auto now = look(*opened, state);
  if (!now || (as_seen && !now->is_as(*as_seen))) return;
  const auto& owner = now->owner;
  const LockOwner me = LockOwner::this_process();
  const bool is_here = owner && owner->host == me.host;
  const bool is_held =
      is_here ? !lock_obstacle(directory, state, owner, me).empty() : state == LockState::held;
  if (!is_held && is_file(opened->descriptor(), opened->path())) ::unlink(opened->path().c_str());
}

}  // namespace tenax::io
