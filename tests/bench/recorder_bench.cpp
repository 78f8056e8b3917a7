// What the flight recorder takes for an operation: to begin, look at and end it.
//
//   recorder_bench
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "resilience/recorder/recorder.hpp"
#include "tests/bench/median.hpp"

namespace tenax::bench {
namespace {

constexpr int kOperations = 200'000, kRounds = 11;

template <class Work>
double ns_of(Work work) {
  return median_of(kRounds, [&] {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kOperations; ++i) work();
    return 1e9 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
           kOperations;
  });
}

}  // namespace
}  // namespace tenax::bench

int main() {
  using namespace tenax;
  const auto file = std::filesystem::path("/dev/shm") / "tenax-recorder-bench";
  resilience::Recorder recorder(file, {0, 0, "here"});
  const int channel = recorder.add_channel("data@0", resilience::ChannelKind::group, 0, 2);
  std::printf("an operation: %.0f ns\n", bench::ns_of([&] {
                const auto ticket = recorder.begin(resilience::OperationKind::all_reduce, channel, 64);
                recorder.stand(ticket, true);
                recorder.end(ticket);
              }));
  const auto ticket = recorder.begin(resilience::OperationKind::receive, channel, 64);
  std::printf("a look: %.1f ns\n", bench::ns_of([&] { recorder.look(ticket); }));
  std::printf("a message counted: %.1f ns\n", bench::ns_of([&] { recorder.count(channel, 1); }));
  std::filesystem::remove(file);
}
