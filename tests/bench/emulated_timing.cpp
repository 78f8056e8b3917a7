// emulated_timing [RANKS [OPS [MS]]]: how late the emulated device's operations end, with RANKS processes
// (16) of OPS (300) operations of MS milliseconds (10) each, all at once. Two figures an operation: lateness,
// from the logical end to the return of the call, and the error of its duration as a host that times the
// calls would see it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "kernels/deadline.hpp"
#include "kernels/emulated_device.hpp"

namespace {

using tenax::kernels::steady_now_s;

void run_rank(double begin_s, double seconds, std::span<double> lateness_s, std::span<double> error_s) {
  const auto device = tenax::kernels::create_emulated_device({});
  const auto stream = device->create_stream();
  const auto end = device->create_event();
  stream->input_arrived(begin_s);
  tenax::kernels::sleep_until_s(begin_s);
  double before_s = begin_s;
  for (std::size_t i = 0; i < lateness_s.size(); ++i) {
    device->occupy(*stream, seconds);
    const double now_s = steady_now_s();
    stream->record(*end);
    lateness_s[i] = now_s - end->time_s();
    error_s[i] = std::abs(now_s - before_s - seconds);
    before_s = now_s;
  }
}

void print(const char* what, std::span<double> values_s) {
  std::sort(values_s.begin(), values_s.end());
  double sum_s = 0;
  for (const double value_s : values_s) sum_s += value_s;
  const auto at = [&](double share) {
    return values_s[static_cast<std::size_t>(share * static_cast<double>(values_s.size() - 1))] * 1e3;
  };
  std::printf("%-26s mean %.4f ms   median %.4f   99 %% %.4f   most %.4f\n", what,
              sum_s / static_cast<double>(values_s.size()) * 1e3, at(0.5), at(0.99), at(1));
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 16;
  const int ops = argc > 2 ? std::atoi(argv[2]) : 300;
  const double seconds = (argc > 3 ? std::atof(argv[3]) : 10) / 1e3;
  if (ranks < 1 || ops < 1 || seconds <= 0) return 2;
  const auto per_rank = static_cast<std::size_t>(ops);
  const std::size_t all = per_rank * static_cast<std::size_t>(ranks);
  void* const shared =
      mmap(nullptr, 2 * all * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  const std::span<double> lateness_s(static_cast<double*>(shared), all);
  const std::span<double> error_s(static_cast<double*>(shared) + all, all);
  const double begin_s = steady_now_s() + 0.2;
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) {
      const std::size_t first = per_rank * static_cast<std::size_t>(rank);
      run_rank(begin_s, seconds, lateness_s.subspan(first, per_rank), error_s.subspan(first, per_rank));
      _exit(0);
    }
  while (wait(nullptr) > 0) {
  }
  std::printf("%d ranks, %d operations of %.2f ms\n", ranks, ops, seconds * 1e3);
  print("lateness", lateness_s);
  print("error of a duration", error_s);
  return 0;
}
