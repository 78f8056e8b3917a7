#include "kernels/emulated_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/deadline.hpp"
#include "kernels/error.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {
namespace {

/// Logical times are sums and maxima of given numbers: equal but for rounding.
constexpr double kRounding = 1e-8;

double mark_s(EmulatedDevice& device, Stream& stream) {
  const auto event = device.create_event();
  stream.record(*event);
  return event->time_s();
}

TEST(EmulatedDevice, says_what_it_is) {
  const auto device = create_emulated_device({});
  EXPECT_EQ(device->kind(), DeviceKind::emulated);
  EXPECT_FALSE(device->has_data() || device->is_host_memory());
}

TEST(EmulatedDevice, on_return_an_operation_has_run) {
  const auto device = create_emulated_device({});
  const auto stream = device->create_stream();
  const auto end = device->create_event();
  for (int i = 0; i < 5; ++i) {
    device->occupy(*stream, 0.002);
    stream->record(*end);
    EXPECT_TRUE(end->done());
    EXPECT_GE(steady_now_s(), end->time_s());
  }
}

TEST(EmulatedDevice, operations_follow_each_other_without_gaps_however_late_the_host_is) {
  const auto device = create_emulated_device({});
  const auto stream = device->create_stream();
  const double begin_s = mark_s(*device, *stream);
  for (int i = 1; i <= 5; ++i) {
    device->occupy(*stream, 0.004);
    EXPECT_NEAR(mark_s(*device, *stream), begin_s + 0.004 * i, kRounding);
    sleep_until_s(steady_now_s() + 0.003);  // the host does something else
  }
}

TEST(EmulatedDevice, a_matrix_product_takes_the_time_of_a_probe_from_now_on) {
  const auto device = create_emulated_device({.probe_s = 0.004});
  const auto stream = device->create_stream();
  sleep_until_s(mark_s(*device, *stream) + 0.01);
  const double now_s = steady_now_s();
  device->kernels().matmul(*stream, {});
  EXPECT_GE(mark_s(*device, *stream), now_s + 0.004);
  EXPECT_GE(steady_now_s(), mark_s(*device, *stream));
  const auto instant = create_emulated_device({});
  const auto other = instant->create_stream();
  const double begin_s = mark_s(*instant, *other);
  instant->kernels().matmul(*other, {});
  EXPECT_EQ(mark_s(*instant, *other), begin_s);
}

TEST(EmulatedDevice, an_operation_starts_when_its_input_has_arrived) {
  const auto device = create_emulated_device({});
  const auto stream = device->create_stream(), other = device->create_stream();
  const double arrival_s = mark_s(*device, *stream) + 0.01;
  stream->input_arrived(arrival_s);
  stream->input_arrived(arrival_s - 0.005);
  EXPECT_NEAR(mark_s(*device, *stream), arrival_s, kRounding) << "a mark before an operation is its start";
  device->occupy(*stream, 0.002);
  EXPECT_NEAR(mark_s(*device, *stream), arrival_s + 0.002, kRounding);

  const auto event = device->create_event();
  stream->record(*event);
  other->wait(*event);
  device->occupy(*other, 0.003);
  EXPECT_NEAR(mark_s(*device, *other), arrival_s + 0.005, kRounding);
}

TEST(EmulatedDevice, nothing_starts_while_the_host_is_blocked) {
  const auto device = create_emulated_device({});
  const auto stream = device->create_stream();
  const double until_s = mark_s(*device, *stream) + 0.005;
  sleep_until_s(until_s);
  device->host_blocked(*stream);
  EXPECT_GE(mark_s(*device, *stream), until_s);
}

TEST(EmulatedDevice, jitter_stays_in_its_bounds_and_comes_from_the_seed) {
  const auto times_of = [](std::uint64_t seed) {
    const auto device = create_emulated_device({.jitter_percent = 20, .seed = seed});
    const auto stream = device->create_stream();
    std::vector<double> times;
    for (int i = 0; i < 30; ++i) {
      const double begin_s = mark_s(*device, *stream);
      device->occupy(*stream, 1e-3);
      times.push_back(mark_s(*device, *stream) - begin_s);
    }
    return times;
  };
  const std::vector<double> one = times_of(1), again = times_of(1), other = times_of(2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], again[i], kRounding);
  EXPECT_GT(std::abs(one[0] - other[0]) + std::abs(one[1] - other[1]), 1e-6);
  const auto [least, most] = std::minmax_element(one.begin(), one.end());
  EXPECT_GE(*least, 0.8e-3 - kRounding);
  EXPECT_LE(*most, 1.2e-3 + kRounding);
  EXPECT_GT(*most - *least, 0.1e-3);
}

TEST(EmulatedDevice, copies_between_host_and_device_occupy_their_stream_and_nobody_else) {
  const auto device = create_emulated_device({.copy_s = 3600});
  const auto stream = device->create_stream();
  const auto on_device = device->allocate(64), on_host = device->allocate(64, MemoryKind::pinned_host);
  const Tensor far = on_device->tensor(DType::f32, {16}), near = on_host->tensor(DType::f32, {16});
  const double begin_s = steady_now_s();
  const auto end = device->create_event();
  device->kernels().copy(*stream, far, near);
  stream->record(*end);
  EXPECT_FALSE(end->done()) << "the calling thread does not wait for the copy";
  EXPECT_GE(end->time_s(), begin_s + 3600);
  EXPECT_THROW(end->wait(Deadline::after_s(0.001)), Error);
  EXPECT_THROW(stream->synchronize(Deadline::after_s(0.001)), Error);
  device->kernels().copy(*stream, near, far);
  EXPECT_NEAR(mark_s(*device, *stream), end->time_s() + 3600, kRounding);
}

TEST(EmulatedDevice, a_copy_starts_after_the_inputs_it_was_told_of_or_when_it_is_launched) {
  const auto device = create_emulated_device({.copy_s = 1});
  const auto stream = device->create_stream();
  const auto on_device = device->allocate(64), on_host = device->allocate(64, MemoryKind::pinned_host);
  const Tensor far = on_device->tensor(DType::f32, {16}), near = on_host->tensor(DType::f32, {16});
  const double input_s = mark_s(*device, *stream) + 0.001;
  sleep_until_s(input_s + 0.005);
  stream->input_arrived(input_s);
  device->kernels().copy(*stream, near, far);
  EXPECT_NEAR(mark_s(*device, *stream), input_s + 1, kRounding);

  const auto second = device->create_stream();
  sleep_until_s(input_s + 0.01);
  device->kernels().copy(*second, near, far);
  EXPECT_GE(mark_s(*device, *second), input_s + 0.01 + 1);
}

TEST(EmulatedDevice, other_operations_take_no_time_and_touch_no_data) {
  const auto device = create_emulated_device({.copy_s = 1});
  const auto stream = device->create_stream();
  const auto buffer = device->allocate(64, MemoryKind::pinned_host);
  std::memset(buffer->data(), 7, 64);
  const Tensor tensor = buffer->tensor(DType::f32, {16});
  const double before_s = mark_s(*device, *stream);
  device->kernels().zero(*stream, tensor);
  device->kernels().add(*stream, tensor, tensor);
  device->kernels().sum_of_squares(
      *stream, {.parts = std::span<const Tensor>(&tensor, 1), .result = static_cast<double*>(tensor.data)});
  device->kernels().linear_forward(*stream, {.x = tensor, .weight = tensor, .bias = {}, .y = tensor});
  EXPECT_EQ(mark_s(*device, *stream), before_s);
  const auto* const bytes = static_cast<const unsigned char*>(buffer->data());
  EXPECT_TRUE(std::all_of(bytes, bytes + 64, [](unsigned char byte) { return byte == 7; }));
}

TEST(EmulatedDevice, memory_has_a_size_but_no_data_and_host_memory_is_real) {
  const auto device = create_emulated_device({});
  const auto buffer = device->allocate(std::size_t{1} << 40);
  EXPECT_EQ(buffer->bytes(), std::size_t{1} << 40);
  const Tensor tensor = buffer->tensor(DType::f32, {1024}, 4096);
  EXPECT_FALSE(tensor) << "no address, whatever the offset";
  EXPECT_FALSE(tensor.part(512, {512}));
  EXPECT_EQ(tensor.part(512, {512}).bytes(), 2048u);
  const auto host = device->allocate(64, MemoryKind::pinned_host);
  std::memset(host->data(), 1, host->bytes());
}

TEST(EmulatedDevice, copies_within_the_host_move_bytes) {
  const auto device = create_emulated_device({.copy_s = 1});
  const auto stream = device->create_stream();
  const auto from = device->allocate(64, MemoryKind::pinned_host);
  const auto to = device->allocate(64, MemoryKind::pinned_host);
  std::memset(from->data(), 5, 64);
  const double before_s = mark_s(*device, *stream);
  device->kernels().copy(*stream, from->tensor(DType::f32, {16}), to->tensor(DType::f32, {16}));
  EXPECT_EQ(std::memcmp(from->data(), to->data(), 64), 0);
  EXPECT_EQ(mark_s(*device, *stream), before_s);
}

TEST(EmulatedDevice, gives_no_more_memory_than_it_has_and_takes_it_back) {
  const auto device = create_emulated_device({.memory_bytes = 1000});
  const auto first = device->allocate(600);
  try {
    device->allocate(401);
    FAIL() << "more than there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    EXPECT_NE(std::string(error.what()).find("401 bytes"), std::string::npos) << error.what();
  }
  auto second = device->allocate(400);
  second.reset();
  EXPECT_NO_THROW(device->allocate(400));
  EXPECT_THROW(device->allocate(~std::size_t{0}), Error);
}

}  // namespace
}  // namespace tenax::kernels
