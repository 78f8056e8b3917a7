// Median time of an all-reduce over links and in shared memory: mpirun -n 2 allreduce_bench.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "comm/world.hpp"

namespace {

using namespace tenax;
using Clock = std::chrono::steady_clock;

double median_ms(comm::Communicator& communicator, kernels::Stream& stream, const kernels::Tensor& tensor) {
  const int repeats =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 30) / (tensor.bytes() + 1), 11, 501));
  std::vector<double> times_ms;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Clock::time_point start = Clock::now();
    communicator.all_reduce(stream, tensor, comm::ReduceOp::sum);  // of zeros
    times_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(times_ms.begin(), times_ms.begin() + repeats / 2, times_ms.end());
  return times_ms[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

int main() {
  const std::unique_ptr<kernels::Device> device = kernels::create_cpu_device();
  const std::unique_ptr<kernels::Stream> stream = device->create_stream();
  const std::unique_ptr<comm::World> world = comm::start_mpi_world({});
  const auto links =
      comm::create_link_communicator("links", world->split_endpoint(0, world->rank()), *device, {});
  const auto host = world->split_communicator("host", 0, world->rank(), *device);
  if (world->rank() == 0) std::printf("%12s %6s %12s %12s\n", "bytes", "type", "links ms", "shared ms");
  for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{512} << 10,
                                  std::size_t{3} << 20, std::size_t{16} << 20, std::size_t{126} << 20})
    for (const kernels::DType dtype : {kernels::DType::f32, kernels::DType::bf16}) {
      const std::unique_ptr<kernels::Buffer> buffer = device->allocate(bytes);
      const auto elements = static_cast<std::int64_t>(bytes / kernels::bytes_of(dtype));
      const kernels::Tensor tensor = buffer->tensor(dtype, {elements});
      const double links_ms = median_ms(*links, *stream, tensor);
      const double host_ms = median_ms(*host, *stream, tensor);
      if (world->rank() == 0)
        std::printf("%12zu %6s %12.4f %12.4f\n", bytes, dtype == kernels::DType::f32 ? "f32" : "bf16",
                    links_ms, host_ms);
    }
}
