// What device.hpp promises of asynchronous devices, of whatever create_cuda_device() gives: linked once with
// the CUDA back end (skipped without a GPU), once with the stand-in (tests/kernels/async), which shows that
// the claims can be met.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "kernels/cuda_device.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {
namespace {

constexpr std::int64_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(float);

Deadline soon() { return Deadline::after_s(60); }

class AsynchronousDevice : public testing::Test {
 protected:
  void SetUp() override {
    const CudaPresence presence = cuda_presence();
    if (presence.devices == 0) GTEST_SKIP() << presence.reason;
    device = create_cuda_device({});
    stream = device->create_stream();
    other = device->create_stream();
    memory = device->allocate(kBytes);
    pinned = device->allocate(kBytes, MemoryKind::pinned_host);
    on_device = memory->tensor(DType::f32, {kCount});
    on_host = pinned->tensor(DType::f32, {kCount});
    // CUDA may wait for all streams when it first loads a kernel: not while a test holds one.
    device->kernels().add(*stream, on_device, on_device);
    device->kernels().copy(*stream, on_device, on_host);
    stream->synchronize(soon());
  }
  void fill_host(float value) { std::fill_n(on_host.as<float>(), kCount, value); }
  bool host_is_full_of(float value) const {
    return std::all_of(on_host.as<float>(), on_host.as<float>() + kCount,
                       [&](float x) { return x == value; });
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream, other;
  std::unique_ptr<Buffer> memory, pinned;
  Tensor on_device, on_host;
};

TEST_F(AsynchronousDevice, says_what_it_is) {
  EXPECT_EQ(device->kind(), DeviceKind::cuda);
  EXPECT_TRUE(device->is_asynchronous() && device->has_data() && !device->is_host_memory());
  EXPECT_GT(device->memory_bytes(), std::size_t{1} << 28);
  EXPECT_TRUE(device->name().starts_with("cuda 0 (")) << device->name();
  EXPECT_FALSE(device->bus_id().empty() || device->memory_id().empty());
  const Range range(*device, "F0");
}

TEST_F(AsynchronousDevice, gives_zeroed_memory_of_either_kind_also_where_it_was_used_before) {
  fill_host(1.0F);
  device->kernels().copy(*stream, on_host, on_device);
  stream->synchronize(soon());
  memory.reset();
  pinned.reset();
  memory = device->allocate(kBytes);
  pinned = device->allocate(kBytes, MemoryKind::pinned_host);
  on_device = memory->tensor(DType::f32, {kCount});
  on_host = pinned->tensor(DType::f32, {kCount});
  EXPECT_TRUE(host_is_full_of(0.0F));
  fill_host(1.0F);
  device->kernels().copy(*stream, on_device, on_host);
  stream->synchronize(soon());
  EXPECT_TRUE(host_is_full_of(0.0F));
}

TEST_F(AsynchronousDevice, gives_even_an_empty_buffer_an_address) {
  EXPECT_NE(device->allocate(0)->data(), nullptr);
}

TEST_F(AsynchronousDevice, names_the_bytes_that_it_does_not_have) {
  constexpr std::size_t kTooMany = std::size_t{1} << 50;
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned_host}) {
    try {
      device->allocate(kTooMany, kind);
      ADD_FAILURE() << "nobody has a petabyte";
    } catch (const Error& error) {
      EXPECT_EQ(error.scope(), Scope::rank);
      EXPECT_NE(std::string(error.what()).find(std::to_string(kTooMany)), std::string::npos) << error.what();
    }
  }
  device->kernels().zero(*stream, on_device);  // the error is not told again by the next call
  stream->synchronize(soon());
}

TEST_F(AsynchronousDevice, holds_a_stream_at_a_flag_and_others_at_its_events) {
  const auto flag = device->create_flag();
  const auto event = device->create_event();
  EXPECT_TRUE(event->done()) << "never recorded";
  fill_host(1.0F);
  stream->wait(*flag, 2);
  device->kernels().copy(*stream, on_host, on_device);
  stream->record(*event);
  other->wait(*event);
  device->kernels().add(*other, on_device, on_device);
  flag->set(1);
  EXPECT_FALSE(event->done());
  fill_host(3.0F);
  flag->set(2);
  event->wait(soon());
  EXPECT_TRUE(event->done());
  device->kernels().copy(*other, on_device, on_host);
  other->synchronize(soon());
  EXPECT_TRUE(host_is_full_of(6.0F));
}

TEST_F(AsynchronousDevice, sets_a_flag_after_what_it_copied_before) {
  const auto flag = device->create_flag();
  EXPECT_EQ(flag->value(), 0u);
  for (std::uint32_t round = 1; round <= 100; ++round) {
    fill_host(1.0F);
    device->kernels().copy(*stream, on_host, on_device);
    for (std::uint32_t i = 0; i < 10; ++i) device->kernels().add(*stream, on_device, on_device);
    device->kernels().copy(*stream, on_device, on_host);
    stream->set(*flag, round);
    const Deadline deadline = soon();
    Backoff backoff;
    while (flag->value() < round && !deadline.expired()) backoff.pause();
    ASSERT_EQ(flag->value(), round);
    ASSERT_TRUE(host_is_full_of(1024.0F));
  }
}

TEST_F(AsynchronousDevice, gives_up_a_wait_at_its_deadline_and_can_go_on) {
  const auto flag = device->create_flag();
  const auto event = device->create_event();
  stream->wait(*flag, 1);
  stream->record(*event);
  const Deadline now = Deadline::after_s(0.01);
  EXPECT_THROW(event->wait(now), Error);
  EXPECT_THROW(stream->synchronize(now), Error);
  flag->set(1);
  event->wait(soon());
  stream->synchronize(soon());
}

TEST_F(AsynchronousDevice, lets_go_of_memory_without_waiting_and_keeps_it_while_a_stream_may_use_it) {
  const auto flag = device->create_flag();
  auto source = device->allocate(kBytes), pages = device->allocate(kBytes, MemoryKind::pinned_host);
  const Tensor from = source->tensor(DType::f32, {kCount}), through = pages->tensor(DType::f32, {kCount});
  fill_host(5.0F);
  device->kernels().copy(*other, on_host, from);
  other->synchronize(soon());
  fill_host(0.0F);
  stream->wait(*flag, 1);
  device->kernels().copy(*stream, from, through);
  device->kernels().copy(*stream, through, on_host);
  source.reset();
  pages.reset();
  device->reclaim_memory();
  const auto later = device->allocate(kBytes);
  EXPECT_FALSE(host_is_full_of(5.0F));
  flag->set(1);
  stream->synchronize(soon());
  EXPECT_TRUE(host_is_full_of(5.0F));
  device->reclaim_memory();
}

TEST_F(AsynchronousDevice, tells_when_events_were_passed_on_the_hosts_clock) {
  constexpr double kSlack_s = 0.05;
  const auto first = device->create_event(), second = device->create_event();
  const auto gate = device->create_flag();
  const double before_s = steady_now_s();
  stream->record(*first);
  stream->wait(*gate, 1);
  stream->record(*second);
  first->wait(soon());
  const double between_s = steady_now_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  gate->set(1);
  second->wait(soon());
  const double after_s = steady_now_s();
  EXPECT_GT(first->time_s(), before_s - kSlack_s);
  EXPECT_LT(first->time_s(), between_s + kSlack_s);
  EXPECT_GT(second->time_s(), between_s + 0.2 - kSlack_s);
  EXPECT_LT(second->time_s(), after_s + kSlack_s);
}

TEST_F(AsynchronousDevice, takes_a_stream_from_one_thread_to_another) {
  fill_host(2.0F);
  std::thread([&] { device->kernels().copy(*stream, on_host, on_device); }).join();
  std::thread([&] {
    device->kernels().add(*stream, on_device, on_device);
    device->kernels().copy(*stream, on_device, on_host);
  }).join();
  stream->synchronize(soon());
  EXPECT_TRUE(host_is_full_of(4.0F));
}

class CapturingDevice : public AsynchronousDevice {
 protected:
  void SetUp() override {
    AsynchronousDevice::SetUp();
    if (device && !device->can_capture()) GTEST_SKIP() << device->name() << " captures nothing";
  }
};

TEST_F(CapturingDevice, runs_what_was_captured_at_each_launch_and_not_before) {
  fill_host(1.0F);
  device->kernels().copy(*stream, on_host, on_device);
  stream->begin_capture();
  device->kernels().add(*stream, on_device, on_device);
  const auto graph = stream->end_capture();
  stream->launch(*graph);
  stream->launch(*graph);
  device->kernels().copy(*stream, on_device, on_host);
  stream->synchronize(soon());
  EXPECT_TRUE(host_is_full_of(4.0F));
}

TEST_F(CapturingDevice, joins_streams_in_a_graph_and_keeps_the_times_of_their_events) {
  const auto earlier = device->create_event(), fork = device->create_event(), join = device->create_event();
  const auto more = device->allocate(kBytes);
  const Tensor sum = more->tensor(DType::f32, {kCount});
  stream->record(*earlier);
  stream->begin_capture();
  stream->wait(*earlier);
  device->kernels().copy(*stream, on_host, on_device);
  stream->record(*fork);
  other->wait(*fork);
  device->kernels().add(*other, on_device, sum);
  other->record(*join);
  stream->wait(*join);
  device->kernels().copy(*stream, sum, on_host);
  const auto graph = stream->end_capture();
  double last_s = steady_now_s() - 0.05;
  for (const float expected : {1.0F, 2.0F, 4.0F}) {
    if (expected == 1.0F) fill_host(1.0F);
    stream->launch(*graph);
    stream->synchronize(soon());
    EXPECT_TRUE(host_is_full_of(expected));
    EXPECT_TRUE(fork->done() && join->done());
    EXPECT_LE(fork->time_s(), join->time_s());
    EXPECT_GT(fork->time_s(), last_s) << "each launch moves the mark";
    last_s = join->time_s();
  }
  other->wait(*join);  // outside of graphs an event means what it last meant
  other->synchronize(soon());
}

}  // namespace
}  // namespace tenax::kernels
