#include "tests/kernels/async/stand_in.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/error.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::test {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::int64_t kCount = 1024;

Deadline soon() { return Deadline::after_s(60); }

class StandInDevice : public testing::Test {
 protected:
  std::unique_ptr<Device> device = create_stand_in({.jitter_us = 200});
  std::unique_ptr<Stream> stream = device->create_stream(), other = device->create_stream();
  std::unique_ptr<Buffer> memory = device->allocate(kBytes);
  std::unique_ptr<Buffer> pinned = device->allocate(kBytes, MemoryKind::pinned_host);
  Tensor on_device = memory->tensor(DType::f32, {kCount}), on_host = pinned->tensor(DType::f32, {kCount});
};
using StandInDeath = StandInDevice;

TEST_F(StandInDevice, runs_operations_in_order_behind_the_callers_back) {
  on_host.as<float>()[7] = 2.5F;
  device->kernels().copy(*stream, on_host, on_device);
  device->kernels().add(*stream, on_device, on_device);
  device->kernels().copy(*stream, on_device, on_host);
  stream->synchronize(soon());
  EXPECT_EQ(on_host.as<float>()[7], 5.0F);
}

TEST_F(StandInDevice, orders_streams_by_events_and_flags_alone) {
  const auto event = device->create_event();
  const auto flag = device->create_flag();
  on_host.as<float>()[0] = 1.0F;
  stream->wait(*flag, 2);
  device->kernels().copy(*stream, on_host, on_device);
  stream->record(*event);
  other->wait(*event);
  device->kernels().add(*other, on_device, on_device);
  EXPECT_FALSE(event->done()) << "the stream waits for the flag";
  on_host.as<float>()[0] = 3.0F;
  flag->set(2);
  other->synchronize(soon());
  device->kernels().copy(*other, on_device, on_host);
  other->synchronize(soon());
  EXPECT_TRUE(event->done());
  EXPECT_EQ(on_host.as<float>()[0], 6.0F);
}

TEST_F(StandInDevice, a_stream_sets_flags_when_it_gets_there) {
  const auto gate = device->create_flag(), told = device->create_flag();
  stream->wait(*gate, 1);
  stream->set(*told, 5);
  EXPECT_EQ(told->value(), 0u);
  gate->set(1);
  stream->synchronize(soon());
  EXPECT_EQ(told->value(), 5u);
}

TEST_F(StandInDevice, reaches_host_memory_only_where_it_is_pinned_or_registered) {
  constexpr std::size_t kPage = 4096;
  const std::shared_ptr<std::byte> pages(static_cast<std::byte*>(std::aligned_alloc(kPage, kPage)),
                                         std::free);
  const Tensor there{pages.get(), DType::f32, {kCount}};
  EXPECT_THROW(device->kernels().copy(*stream, on_device, there), Error);
  const auto gate = device->create_flag();
  {
    const auto registration = device->register_host(pages, kPage);
    on_host.as<float>()[9] = 4.0F;
    stream->wait(*gate, 1);
    device->kernels().copy(*stream, on_host, there);
  }
  device->reclaim_memory();
  gate->set(1);
  stream->synchronize(soon());
  EXPECT_EQ(there.as<float>()[9], 4.0F) << "it was reached as long as a stream had to";
  device->reclaim_memory();
  EXPECT_THROW(device->kernels().copy(*stream, there, on_device), Error);
}

TEST_F(StandInDeath, meets_a_host_that_touches_device_memory) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(std::memset(on_device.data, 0, 4), "");
}

TEST_F(StandInDevice, frees_memory_only_when_no_stream_can_use_it) {
  const auto gate = device->create_flag();
  stream->wait(*gate, 1);
  device->kernels().zero(*stream, on_device);
  memory.reset();
  device->reclaim_memory();
  gate->set(1);
  stream->synchronize(soon());
}

}  // namespace
}  // namespace tenax::kernels::test
