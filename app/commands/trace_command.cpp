// The columns and the names of operations are those that ByteDance's what-if analyser reads
// (github.com/ByteDance-Seed/StragglerAnalysis, "Understanding Stragglers in Large Model Training Using What-if Analysis",
// OSDI 2025): forward-compute, backward-compute, forward-send, forward-recv, backward-send, backward-recv. It knows one
// backward pass a microbatch: B and BW are called that, as what the stage above waits for; W is called
// backward-weight-compute, which it does not know: leave those rows out for it, or add them to their B's.
#include "app/commands/commands.hpp"

#include <cstdio>

#include "app/command_line.hpp"
#include "app/launch/launch_files.hpp"
#include "app/units.hpp"
#include "io/run/trace_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::string optype_of(const io::TraceOp& op) {
  if (op.category == "F") return "forward-compute";
  if (op.category == "B" || op.category == "BW") return "backward-compute";
  if (op.category == "W") return "backward-weight-compute";
  const std::string direction = op.name.find("activation") != std::string::npos ? "forward" : "backward";
  return direction + (op.name.starts_with("send") ? "-send" : "-recv");
}

void print_csv(const io::TraceFile& trace) {
  std::printf("step,stage,dp_rank,tp_rank,optype,microbatch,start_us,duration_us\n");
  for (const io::TraceRank& rank : trace.ranks)
    for (const io::TraceOp& op : rank.ops)
      std::printf("%lld,%d,%d,%d,%s,%d,%.3f,%.3f\n", static_cast<long long>(trace.step), rank.stage,
                  rank.data, rank.tensor, optype_of(op).c_str(), op.microbatch, op.start_us, op.duration_us);
}

}  // namespace

// A run may go on with replicas, or without, and each of them may have been given up.
io::TraceFile trace_of_run(const std::filesystem::path& run_directory) {
  namespace fs = std::filesystem;
  std::error_code absent;  // then it is older than all others
  fs::path newest = run_directory / "trace.json";
  fs::file_time_type newest_time = fs::last_write_time(newest, absent);
  for (const fs::path& replica : replica_directories(run_directory)) {
    const fs::path file = replica / "trace.json";
    const fs::file_time_type time = fs::last_write_time(file, absent);
    if (time <= newest_time) continue;
    newest = file;
    newest_time = time;
  }
  return io::read_trace(newest);
}

int trace_command(const std::vector<std::string>& arguments) {
  const CommandLine line({"trace", {}, {"csv"}, 1, 1}, arguments);
  if (!line.has("csv"))
    throw kernels::Error(kernels::Scope::usage,
                         "trace: say --csv, the one format there is; " + line.positional().front() +
                             "/trace.json opens in Perfetto as it is (see tenax trace --help)");
  print_csv(trace_of_run(line.positional().front()));
  return 0;
}

}  // namespace tenax::app
