#include "app/launch/replica_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>

#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

/// Fields of /proc/PID/stat from the third on: the name before them may hold anything.
struct ProcessStat {
  char state = '?';
  pid_t session = 0;
  std::uint64_t start_time = 0;
};

std::optional<ProcessStat> read_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return {};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  ProcessStat stat;
  pid_t parent = 0, group = 0;
  fields >> stat.state >> parent >> group >> stat.session;
  std::string skipped;
  constexpr int kBetween = 15;  // fields 7 to 21
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  fields >> stat.start_time;
  if (!fields) return {};
  return stat;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, where only system calls are allowed: says what failed through the pipe, which closes if the program starts.
// No signal is blocked in the program, and a broken pipe ends it, whatever this process does.
[[noreturn]] void become(char* const* words, int log, int failure) {
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  if (null >= 0 && dup2(null, 0) == 0 && dup2(log, 1) == 1 && dup2(log, 2) == 2) execvp(words[0], words);
  const int reason = errno;
  [[maybe_unused]] const auto written = write(failure, &reason, sizeof reason);
  _exit(127);
}

}  // namespace

std::optional<ProcessId> identify_process(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || stat->state == 'Z') return {};
  return ProcessId{pid, stat->start_time};
}

std::optional<char> process_state(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? std::optional(stat->state) : std::nullopt;
}

ProcessId this_process() { return identify_process(getpid()).value_or(ProcessId{getpid(), 0}); }

ReplicaProcess ReplicaProcess::start(const Request& request) {
  const int log = open(request.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) io::throw_file_error("write", request.log, {errno, std::generic_category()});
  const io::PosixFile owned_log = io::PosixFile::adopt(log, request.log);
  std::vector<std::string> words = {"env"};
  words.insert(words.end(), request.environment.begin(), request.environment.end());
  words.insert(words.end(), request.words.begin(), request.words.end());
  const std::vector<char*> word_pointers = pointers(words);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw Error(Scope::rank, "cannot make a pipe: too many open files?");
  const pid_t child = fork();
  if (child == 0) become(word_pointers.data(), log, pipe_ends[1]);
  close(pipe_ends[1]);
  int reason = child < 0 ? errno : 0;
  if (child > 0 && read(pipe_ends[0], &reason, sizeof reason) > 0) waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  if (reason != 0)
    throw Error(Scope::rank,
                "cannot start " + request.words.front() + ": " + std::generic_category().message(reason));
  return {identify_process(child).value_or(ProcessId{child, 0}), true};
}

std::optional<ReplicaProcess> ReplicaProcess::adopt(ProcessId id) {
  if (identify_process(id.pid) != id) return {};
  return ReplicaProcess(id, false);
}

double ReplicaProcess::age_s() const {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double now_s = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return now_s - static_cast<double>(id_.start_time) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::optional<int> ReplicaProcess::end_status() {
  if (status_) return status_;
  int status = 0;
  if (is_child_) {
    if (waitpid(id_.pid, &status, WNOHANG) == id_.pid) status_ = status;
  } else if (identify_process(id_.pid) != id_) {
    status_ = 0;
  }
  return status_;
}

void ReplicaProcess::send(int signal) {
  if (!end_status()) kill(id_.pid, signal);
}

void ReplicaProcess::kill_session() {
  send(SIGKILL);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) continue;
    const auto stat = read_stat(pid);
    if (stat && stat->session == id_.pid && stat->start_time >= id_.start_time) kill(pid, SIGKILL);
  }
}

}  // namespace tenax::app
