#include "resilience/blame/hang_record.hpp"

#include <string>
#include <vector>

#include "io/whole_file.hpp"
#include "resilience/blame/hang_file.hpp"
#include "resilience/blame/hang_picture.hpp"

namespace tenax::resilience {

namespace fs = std::filesystem;
using io::JsonObject;

JsonObject blame_json(const HangDump& dump, const Blame& blame) {
  std::vector<JsonObject> culprits;
  for (const Culprit& culprit : blame.culprits) {
    const HangDump::Rank& rank = dump.ranks[static_cast<std::size_t>(culprit.rank)];
    culprits.push_back(JsonObject{}
                           .add("replica", rank.replica)
                           .add("rank", rank.rank)
                           .add("host", rank.host)
                           .add("operation", culprit.operation));
  }
  return JsonObject{}
      .add("culprits", culprits)
      .add("operation", blame.operation)
      .add("waiting_ranks", blame.culprits.empty() ? 0 : blame.culprits.front().waiting_ranks)
      .add("seconds", blame.seconds);
}

fs::path record_hang(const fs::path& directory, const HangDump& dump, const Blame& blame) {
  std::error_code none;
  fs::path file;
  int number = 0;
  do file = directory / ("hang-" + std::to_string(number++) + ".json");
  while (fs::exists(file, none));
  io::write_file_atomically(file, hang_text(dump));
  io::write_file_atomically(fs::path(file).replace_extension(".svg"), draw_hang_svg(dump, blame));
  return file;
}

}  // namespace tenax::resilience
