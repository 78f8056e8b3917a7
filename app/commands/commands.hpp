// The commands of tenax. help.cpp says what a user gives them.
//
// `arguments`: the words after the command's name. Each command throws Error and returns the
// exit status.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {
struct TraceFile;
}

namespace tenax::app {

using Arguments = std::vector<std::string>;

struct Build;  // app/build.hpp

/// `tenax DECK`: trains one replica; every rank runs this. Errors have been reported on stderr,
/// once for all ranks.
int train_command(const std::string& deck, const std::vector<std::string>& overrides, const Build& build);
/// One rank of a replica that a supervisor has started: `tenax --join FILE`.
int join_command(const std::string& join_file, const Build& build);
/// One rank of a run of tenax replay: `tenax --replay FOLDER [section.key=value …]`. FOLDER has the
/// deck, and gets the records. Overrides are for tests: a remote shell that plays a faulty host adds
/// them.
int replay_rank_command(const std::string& folder, const std::vector<std::string>& overrides,
                        const Build& build);
int launch_command(const std::vector<std::string>& arguments, const Build& build);

int audit_command(const Arguments& arguments);
int blame_command(const Arguments& arguments);
/// A file that is wrong is told on stderr; the others are gone through, and the status is 1.
int detect_command(const Arguments& arguments);
int evaluate_command(const Arguments& arguments);
int export_command(const Arguments& arguments);
int generate_command(const Arguments& arguments);
int import_command(const Arguments& arguments, const Build& build);
int inspect_command(const Arguments& arguments);
/// With --ranks it prints, a line each, just the ranks of a replica, the run directory, the replicas and the
/// threads of a rank (for app/run.sh).
int plan_command(const Arguments& arguments);
/// Status 1 where no port is usable.
int ports_command(const Arguments& arguments);
int replay_command(const Arguments& arguments);
int report_command(const Arguments& arguments);
int schedule_command(const Arguments& arguments);
int simulate_command(const Arguments& arguments);
int tokenize_command(const Arguments& arguments);
int trace_command(const Arguments& arguments);

/// The trace of a run directory; where there are several replicas, the newest. Throws as
/// io::read_trace.
io::TraceFile trace_of_run(const std::filesystem::path& run_directory);

/// The completion script for `shell`, "bash" or "zsh", made of what --help and --deck-help say.
/// Throws Error(usage) for another shell.
std::string completion_script(const std::string& shell);

}  // namespace tenax::app
