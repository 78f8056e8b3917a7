#include "io/run/trace_file.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "io/json_parse.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

[[noreturn]] void refuse_trace(const fs::path& file, const std::string& why) {
  throw kernels::Error(kernels::Scope::rank, file.string() + ": " + why);
}

void add_event(std::map<int, TraceRank>& ranks, const json& event) {
  const std::string phase = event.at("ph");
  TraceRank& rank = ranks[event.at("pid").get<int>()];
  const json arguments = event.value("args", json::object());
  if (phase == "M" && event.at("name") == "process_name") {
    rank.stage = arguments.at("stage");
    rank.data = arguments.at("data");
    rank.tensor = arguments.at("tensor");
    rank.planned = arguments.value("planned", "");
  } else if (phase == "X" && arguments.contains("microbatch")) {
    rank.ops.push_back({event.at("name"), event.at("cat"), arguments.at("microbatch").get<int>(),
                        event.at("ts").get<double>(), event.at("dur").get<double>()});
  }
}

TraceFile trace_of(std::map<int, TraceRank> rank_of_number, std::int64_t step) {
  TraceFile trace{step, {}};
  double first_us = std::numeric_limits<double>::infinity();
  for (auto& [number, rank] : rank_of_number) {
    rank.rank = number;
    std::stable_sort(rank.ops.begin(), rank.ops.end(),
                     [](const TraceOp& a, const TraceOp& b) { return a.start_us < b.start_us; });
    if (!rank.ops.empty()) first_us = std::min(first_us, rank.ops.front().start_us);
    trace.ranks.push_back(std::move(rank));
  }
  for (TraceRank& rank : trace.ranks)
    for (TraceOp& op : rank.ops) op.start_us -= first_us;
  return trace;
}

}  // namespace

TraceFile read_trace(const fs::path& file) {
  try {
    const json object = read_json(
        file, "; a run writes it after its tenth step, or every run.profile_interval steps, and at its end");
    std::map<int, TraceRank> ranks;
    for (const json& event : object.at("traceEvents")) add_event(ranks, event);
    return trace_of(std::move(ranks), object.at("otherData").at("step"));
  } catch (const json::exception&) {  // a member is missing, or of another type
    refuse_trace(file, "is not a trace of this version of tenax");
  }
}

}  // namespace tenax::io
