// tenax: which command, and what its failure means to the shell.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/help.hpp"
#include "app/console.hpp"
#include "app/launch/remote_end.hpp"
#include "app/stop_signals.hpp"
#include "app/supervisor/recorder_reading.hpp"
#include "comm/nccl.hpp"
#include "comm/verbs.hpp"
#include "comm/world.hpp"
#include "io/deck/deck.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"

namespace {

using tenax::kernels::Error;
using tenax::kernels::Scope;
using Arguments = std::vector<std::string>;

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::string version() {
  const std::string cuda = tenax::kernels::cuda_versions(), nccl = tenax::comm::nccl_version();
  return "tenax " TENAX_VERSION "\nback ends: cpu, emulated" +
         (cuda.empty() ? "" : ", cuda (" + cuda + (nccl.empty() ? "" : ", " + nccl) + ")") +
         (tenax::comm::has_verbs() ? ", verbs" : "") + "\nloops: " + tenax::kernels::cpu_loops_name() + "\n";
}

int run_command(const std::string& command, const Arguments& arguments) {
  const tenax::app::Build build{TENAX_VERSION, tenax::app::build_commit()};
  const std::map<std::string, std::function<int(const Arguments&)>> commands = {
      {"audit", tenax::app::audit_command},
      {"blame", tenax::app::blame_command},
      {"detect", tenax::app::detect_command},
      {"evaluate", tenax::app::evaluate_command},
      {"launch", [&](const Arguments& a) { return tenax::app::launch_command(a, build); }},
      {"plan", tenax::app::plan_command},
      {"ports", tenax::app::ports_command},
      {"generate", tenax::app::generate_command},
      {"import", [&](const Arguments& a) { return tenax::app::import_command(a, build); }},
      {"export", tenax::app::export_command},
      {"inspect", tenax::app::inspect_command},
      {"replay", tenax::app::replay_command},
      {"schedule", tenax::app::schedule_command},
      {"simulate", tenax::app::simulate_command},
      {"tokenize", tenax::app::tokenize_command},
      {"report", tenax::app::report_command},
      {"trace", tenax::app::trace_command},
  };
  if (const auto entry = commands.find(command); entry != commands.end()) {
    for (const std::string& argument : arguments)
      if (argument == "--help" || argument == "-h") return print(tenax::app::command_help(command));
    return entry->second(arguments);
  }
  tenax::app::check_is_deck(command);
  return tenax::app::train_command(command, arguments, build);
}

/// `tenax help [COMMAND]`
int help(const Arguments& arguments) {
  if (arguments.empty()) return print(tenax::app::general_help());
  const std::string text = tenax::app::command_help(arguments.front());
  if (text.empty()) tenax::app::fail_unknown_command(arguments.front());
  return print(text);
}

int run(const Arguments& arguments) {
  if (arguments.empty()) {
    if (tenax::comm::launched_rank() > 0) return 2;  // another rank says it
    std::fprintf(stderr, "no deck given\n%s", tenax::app::general_help().c_str());
    return 2;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") return print(tenax::app::general_help());
  if (first == "--join" && arguments.size() == 2)
    return tenax::app::join_command(arguments[1], {TENAX_VERSION, tenax::app::build_commit()});
  if (first == "--recorders")
    return tenax::app::print_recorders(Arguments(arguments.begin() + 1, arguments.end()));
  if (first == "--end" && arguments.size() == 2) {
    tenax::app::end_processes(arguments[1]);
    return 0;
  }
  if (first == "--replay" && arguments.size() >= 2)
    return tenax::app::replay_rank_command(arguments[1], Arguments(arguments.begin() + 2, arguments.end()),
                                           {TENAX_VERSION, tenax::app::build_commit()});
  if (first == "help") return help(Arguments(arguments.begin() + 1, arguments.end()));
  if (first == "--deck-help") return print(tenax::io::deck_help());
  if (first == "--version") return print(version());
  if (first == "--completion")
    return print(tenax::app::completion_script(arguments.size() > 1 ? arguments[1] : ""));
  return run_command(first, Arguments(arguments.begin() + 1, arguments.end()));
}

// Output that could not be written (a full disk behind a redirection) is a failure too.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  throw Error(Scope::rank, "cannot write to standard output: is the disk full?");
}

// The constructors of the shared libraries, CUDA's above all, take more time than everything before main() else; a signal
// to a training rank must not end it there. This runs before them, when no library may be relied on: hence the bare call.
void hold_stop_signals() {
  constexpr std::uint64_t kMask = std::uint64_t{1} << (SIGUSR1 - 1) | std::uint64_t{1} << (SIGTERM - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kMask, nullptr, sizeof kMask);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeConstructors)() = hold_stop_signals;

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc >= 2 ? argv[1] : "--help";
  const bool may_train = tenax::app::may_be_deck(first) || first == "--join" || first == "--replay";
  if (!may_train) tenax::app::StopSignals::release();
  try {
    return flushed(run(Arguments(argv + 1, argv + argc)));
  } catch (const Error& error) {
    // What is wrong with the command line is the same on every rank: one says it.
    if (error.scope() != Scope::usage || tenax::comm::launched_rank() <= 0) tenax::app::print_error(error);
    return error.exit_status();
  } catch (const std::exception& error) {
    tenax::app::print_error(error);
    return 1;
  }
}
