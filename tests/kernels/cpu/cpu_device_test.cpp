#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "kernels/error.hpp"
#include "kernels/host.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

bool is_zero(const Buffer& buffer) {
  const auto* const bytes = static_cast<const std::byte*>(buffer.data());
  return std::all_of(bytes, bytes + buffer.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(CpuDevice, memory_is_zero_and_aligned_also_when_used_before) {
  const auto device = create_cpu_device();
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{63}, std::size_t{4096}, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 3}) {
      const auto buffer = device->allocate(bytes);
      EXPECT_EQ(buffer->bytes(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0u);
      EXPECT_TRUE(is_zero(*buffer)) << bytes;
      std::memset(buffer->data(), 0xff, bytes);
    }
}

TEST(CpuDevice, an_empty_buffer_is_not_an_absent_tensor) {
  const auto buffer = create_cpu_device()->allocate(0);
  EXPECT_TRUE(buffer->tensor(DType::f32, {0}));
}

TEST(CpuDevice, refuses_more_memory_than_there_is_and_names_the_bytes) {
  const auto device = create_cpu_device();
  for (const std::size_t bytes : {device->memory_bytes() + 1, std::size_t{1} << 62}) {
    try {
      device->allocate(bytes);
      FAIL() << "allocated " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.scope(), Scope::rank);
      EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos) << error.what();
    }
  }
}

TEST(CpuDevice, counts_the_scratch_of_each_thread_but_the_first) {
  const StepShape shape{DType::f32, 4, 1024, 768, 12, 64, true};
  EXPECT_EQ(create_cpu_device()->scratch_bytes(shape), 0U);
  const std::size_t of_one = create_cpu_device(2)->scratch_bytes(shape);
  EXPECT_GT(of_one, kMiB);
  EXPECT_EQ(create_cpu_device(5)->scratch_bytes(shape), 4 * of_one);
  EXPECT_EQ(create_cpu_device(5)->threads(), 5);
}

TEST(CpuDevice, says_what_it_is) {
  const auto device = create_cpu_device();
  EXPECT_EQ(device->kind(), DeviceKind::cpu);
  EXPECT_TRUE(device->name().starts_with("cpu (")) << device->name();
  EXPECT_TRUE(device->has_data() && device->is_host_memory());
  EXPECT_GT(device->memory_bytes(), 64 * kMiB);
}

TEST(CpuDevice, events_tell_when_they_were_recorded) {
  const auto device = create_cpu_device();
  const auto stream = device->create_stream();
  const auto first = device->create_event(), second = device->create_event();
  EXPECT_TRUE(first->done()) << "an event that was never recorded is done";
  const auto now_s = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double before = now_s();
  stream->record(*first);
  stream->record(*second);
  const double after = now_s();
  EXPECT_LE(before, first->time_s());
  EXPECT_LE(first->time_s(), second->time_s());
  EXPECT_LE(second->time_s(), after);
  stream->record(*first);
  EXPECT_LE(second->time_s(), first->time_s()) << "recording again moves the mark";
}

// One rank of a test with ranks as threads: its own device, stream and tensors.
std::vector<float> work_of_a_rank() {
  const auto device = create_cpu_device();
  const auto stream = device->create_stream();
  const std::int64_t rows = 64, columns = 96;
  const auto buffer = device->allocate(static_cast<std::size_t>(rows * columns) * 4 * 8);
  const auto at = [&](std::int64_t slot, Shape shape) {
    return buffer->tensor(DType::f32, shape, static_cast<std::size_t>(slot * rows * columns) * 4);
  };
  const Tensor x = at(0, {rows, columns}), y = at(1, {rows, columns}), d_x = at(2, {rows, columns});
  const Tensor gamma = at(3, {columns}), beta = at(4, {columns}), rest = at(5, {rows, columns});
  std::iota(x.as<float>(), x.as<float>() + x.size(), -100.0f);
  std::fill_n(gamma.as<float>(), columns, 2.0f);
  Kernels& kernels = device->kernels();
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Tensor mean = rest.part(0, {rows}), rstd = rest.part(rows, {rows});
    const Tensor d_gamma = rest.part(1000, {columns}), d_beta = rest.part(2000, {columns});
    kernels.layernorm_forward(*stream,
                              {.x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .rstd = rstd});
    kernels.gelu_forward(*stream, {.x = y, .y = y});
    kernels.layernorm_backward(*stream, {.x = x,
                                         .mean = mean,
                                         .rstd = rstd,
                                         .gamma = gamma,
                                         .d_y = y,
                                         .d_residual = {},
                                         .d_x = d_x,
                                         .d_gamma = d_gamma,
                                         .d_beta = d_beta});
    kernels.bias_gradient(*stream, {.d_y = y, .d_bias = beta});
    double norm = 0;
    kernels.sum_of_squares(*stream, {.parts = std::span<const Tensor>(&beta, 1), .result = &norm});
    rest.as<float>()[3000 + repeat] = static_cast<float>(norm);
  }
  return {rest.as<float>(), rest.as<float>() + rest.size()};
}

TEST(CpuDevice, ranks_as_threads_compute_what_one_computes_alone) {
  const std::vector<float> alone = work_of_a_rank();
  std::vector<std::vector<float>> together(4);
  std::vector<std::thread> ranks;
  for (auto& result : together) ranks.emplace_back([&result] { result = work_of_a_rank(); });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& result : together) EXPECT_EQ(result, alone);
}

TEST(CpuDevice, a_process_may_use_the_cores_of_its_affinity) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&all));
  EXPECT_GE(usable_cores(), 1);
  int core = 0;
  while (!CPU_ISSET(core, &all)) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace tenax::kernels
