// What `tenax blame` takes for a hang of a large run.
//
//   blame_bench [RANKS (32768)]
//
// Prints the median seconds of reading the file and finding culprits, and whether the first one is right.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "io/whole_file.hpp"
#include "resilience/blame/culprits.hpp"
#include "resilience/blame/hang_file.hpp"
#include "tests/bench/median.hpp"
#include "tests/resilience/blame/simulated_hang.hpp"

namespace tenax::bench {
namespace {

constexpr int kRounds = 5;
constexpr const char* kNames[] = {"stuck_pass", "stuck_host", "skipped_collective", "half_open", "stopped"};

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const resilience::JobShape& shape, resilience::HangKind kind,
             const std::filesystem::path& file) {
  const resilience::SimulatedHang hang{.kind = kind, .rank = shape.ranks() / 3, .step = 3, .at = 14};
  const auto dump = resilience::simulate_hang(shape, hang, 1);
  if (!dump) return;
  io::write_file_atomically(file, resilience::hang_text(*dump));
  resilience::HangDump read;
  resilience::Blame blame;
  const double read_s =
      median_of(kRounds, [&] { return seconds_of([&] { read = resilience::read_hang(file); }); });
  const double find_s =
      median_of(kRounds, [&] { return seconds_of([&] { blame = resilience::find_culprits(read); }); });
  const bool is_right = !blame.culprits.empty() && blame.culprits.front().rank == hang.rank;
  std::printf(
      "%s: %d ranks, %zu channels, %.1f MB: read %.3f s, culprits %.3f s, together %.3f s, the first is %s\n",
      kNames[static_cast<int>(kind)], shape.ranks(), dump->channels.size(),
      static_cast<double>(std::filesystem::file_size(file)) / 1e6, read_s, find_s, read_s + find_s,
      is_right ? "right" : "WRONG");
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  using namespace tenax;
  resilience::JobShape shape{
      .tensor = 8, .data = 64, .pipeline = 16, .replicas = 4, .microbatches = 4, .layers = 1};
  if (argc > 1)
    shape.data = std::max(1, std::atoi(argv[1]) / (shape.tensor * shape.pipeline * shape.replicas));
  const auto file =
      std::filesystem::temp_directory_path() / ("tenax-blame-bench-" + std::to_string(getpid()) + ".json");
  for (int kind = 0; kind < resilience::kHangKinds; ++kind)
    bench::measure(shape, static_cast<resilience::HangKind>(kind), file);
  std::filesystem::remove(file);
}
