// The files of `tenax schedule`: a planning instance, and an order of passes for each stage. Plain
// data; parallel/ knows their meaning.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// {"stages":S,"microbatches":N,"forward":[…],"backward_input":[…],"backward_weight":[…],"link_delay":[…],
///  "activation_limit":null|[…],"weight_share":0}
struct InstanceFile {
  int stages = 1, microbatches = 1;
  std::vector<double> forward_ms, backward_input_ms, backward_weight_ms;  ///< per stage
  std::vector<double> link_delay_ms;                                      ///< stages − 1
  std::vector<int> activation_limit;  ///< per stage, each ≥ 1; empty = none
  double weight_share = 0;            ///< 0 … 1; 0 where the file has none
};

/// One op of a schedule file: "F", "B", "W" or "BW", and a microbatch.
struct ScheduleFileOp {
  std::string code;
  int microbatch = 0;
};

/// Both throw Error(rank), a sentence that names file and fault, if the file cannot be read or is
/// malformed.
InstanceFile read_instance(const std::filesystem::path& file);
/// Reads {"stages":[{"ops":[["F",0],…]},…], …}: the order of each stage. Ignores other members.
std::vector<std::vector<ScheduleFileOp>> read_schedule(const std::filesystem::path& file);

/// The "stages" member of a schedule file, as JSON.
std::string schedule_stages_json(const std::vector<std::vector<ScheduleFileOp>>& stages);

/// Throws Error(rank) that names the file if it cannot be written.
void write_text_file(const std::filesystem::path& file, const std::string& text);

}  // namespace tenax::io
