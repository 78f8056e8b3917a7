// What `tenax detect` and its baselines tell of jobs like those of Greyhound's tables 3 and 4, and
// what tracking an iteration costs.
//
//   detect_bench [SEEDS (5) [FIRST SEED (1)]]
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "resilience/detection/iteration_tracker.hpp"
#include "tests/resilience/detection/detection_score.hpp"

namespace tenax::bench {
namespace {

using resilience::DetectionScore;

struct Method {
  const char* name;
  resilience::DetectorFactory make;
};

constexpr Method kMethods[] = {{"bocd", resilience::make_run_length_detector},
                               {"window", resilience::make_window_detector},
                               {"raw", resilience::make_raw_detector}};

void print_row(const Method& method, const std::string& kind, const DetectionScore& s) {
  std::printf("| %s | %s | %d of %d | %d of %d | %d | %d | %d | %d of %d | %d |\n", kind.c_str(), method.name,
              s.jobs_right, s.jobs, s.missed, s.changes, s.untrue, s.misplaced, s.misjudged, s.late_clear,
              s.clear, s.late);
}

void compare(std::uint32_t seeds, std::uint32_t first) {
  std::printf(
      "| jobs | method | jobs right | changes missed | told and untrue | place off by > 2 | ratio off by > 6 "
      "%%"
      " | of >= 20 %%: told > 3 after | told > 8 after |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Method& method : kMethods) {
    DetectionScore compute, communication;
    for (std::uint32_t seed = first; seed < first + seeds; ++seed) {
      compute.add(score(method.make, resilience::compute_jobs(seed)));
      communication.add(score(method.make, resilience::communication_jobs(seed)));
    }
    print_row(method, "compute", compute);
    print_row(method, "communication", communication);
  }
}

long resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// One long job with an episode of 100 iterations in every 1000.
void time_tracking(const Method& method) {
  constexpr int kIterations = 1'000'000;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.01);
  resilience::IterationTracker tracker(method.make({}), {});
  const long before_kib = resident_kib();
  int told = 0;
  std::chrono::duration<double> spent{};
  for (int i = 0; i < kIterations; ++i) {
    const double seconds = (i % 1000 < 900 ? 1 : 1.5) * std::exp(noise(random));
    const auto begin = std::chrono::steady_clock::now();
    told += tracker.add(i, seconds).has_value();
    spent += std::chrono::steady_clock::now() - begin;
  }
  std::printf("%s: %.2f us an iteration, %d iterations, %d changes told, %ld KiB more memory\n", method.name,
              spent.count() / kIterations * 1e6, kIterations, told, resident_kib() - before_kib);
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return static_cast<std::uint32_t>(argc > i ? std::atoi(argv[i]) : otherwise);
  };
  tenax::bench::compare(number(1, 5), number(2, 1));
  for (const auto& method : tenax::bench::kMethods) tenax::bench::time_tracking(method);
}
