// Call logs: what is read is in order, and iterations that are found are times.
#include <algorithm>
#include <cmath>

#include "io/run/call_log.hpp"
#include "resilience/detection/call_iterations.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

/// `calls` again and again, each a letter and a tenth of a second.
std::string log_of(const std::vector<std::string>& iterations) {
  std::string text = std::string(io::kCallLogHeader) + "\n";
  int tenths = 0;
  for (const std::string& calls : iterations)
    for (const char call : calls) {
      text += std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "," + call + ",8,2\n";
      ++tenths;
    }
  return text;
}

void check_log(const io::CallLog& log) {
  require(std::is_sorted(log.seconds.begin(), log.seconds.end()), "calls are in the order of their times");
  const auto iterations = resilience::find_call_iterations(log);
  if (!iterations) return;
  require(iterations->size() < log.seconds.size(),
          "an iteration has a call, and the next one begins with another");
  for (const auto& [seconds, is_masked] : *iterations)
    require(std::isfinite(seconds) && (is_masked || seconds > 0), "an iteration takes time");
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string microbatches = "ABABABABC";
  std::vector<std::string> evaluated(42, "ABCD"), shuffled;
  evaluated[20] = evaluated[41] = "ABCDEEE";
  for (int i = 0; i < 12; ++i) shuffled.push_back(i % 3 ? "ABCBCD" : "ACBBDC");
  return {log_of({"A", "A", "A"}), log_of({3, microbatches}), log_of(evaluated), log_of(shuffled)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  const std::string text(fuzz::text_of(data, size));
  for (const std::string& log : {text, std::string(io::kCallLogHeader) + "\n" + text}) {
    folder.write("rank-0.csv", log);
    fuzz::accepts([&] { fuzz::check_log(io::read_call_log(folder.path() / "rank-0.csv")); });
  }
  return 0;
}
