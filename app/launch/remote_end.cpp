#include "app/launch/remote_end.hpp"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "app/launch/launch_files.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

constexpr double kPatience_s = 10;

/// Of /proc/PID; nothing where that is no process.
pid_t pid_of(const fs::path& folder) {
  const std::string name = folder.filename();
  pid_t pid = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
  return parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size() ? pid : 0;
}

/// Another user's cannot be read.
bool has_in_environment(const fs::path& process, const std::string& variable) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const std::string bounded = '\0' + all + '\0';
  return bounded.find('\0' + variable + '\0') != std::string::npos;
}

}  // namespace

void end_processes(const fs::path& scratch) {
  const std::string mark = scratch_variable(scratch);
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = pid_of(entry.path());
    if (pid > 0 && pid != getpid() && has_in_environment(entry.path(), mark)) kill(pid, SIGKILL);
  }
  std::error_code ignored;
  if (is_scratch(scratch)) fs::remove_all(scratch, ignored);
}

RemoteEnd::RemoteEnd(const ReplicaCommand& replica, const fs::path& log)
    : latest_(kernels::Deadline::after_s(kPatience_s)) {
  if (!replica.is_remote()) return;
  for (const HostSlots& host : replica.hosts) try {
      shells_.push_back(
          ReplicaProcess::start({.words = replica.remote_call(host.host, {"--end", replica.scratch}),
                                 .environment = {},
                                 .log = log}));
    } catch (const kernels::Error&) {  // it has gone: nobody can reach the host
    }
}

bool RemoteEnd::is_over() {
  const bool is_late = latest_.expired();
  std::erase_if(shells_, [&](ReplicaProcess& shell) {
    if (shell.end_status()) return true;
    if (is_late) shell.kill_session();
    return is_late;
  });
  return shells_.empty();
}

}  // namespace tenax::app
