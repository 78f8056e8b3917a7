// Memory that devices may read: found while it is registered, and for no longer.
#include "comm/verbs/memory_table.hpp"

#include <thread>

#include "comm/transport/socket.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm::verbs {
namespace {

class RegisteredTable : public VerbsTest {
 protected:
  std::shared_ptr<Device> zero = Device::open("fake0"), one = Device::open("fake1");
  MemoryTable table;
  std::vector<std::byte> memory = std::vector<std::byte>(10000);
  std::span<const std::byte> part(std::size_t begin, std::size_t bytes) const {
    return std::span(memory).subspan(begin, bytes);
  }
};

TEST_F(RegisteredTable, finds_what_lies_within_one_registration) {
  const auto registration = table.add(std::span(memory).subspan(1000, 5000));
  EXPECT_TRUE(table.find(zero, part(1000, 5000)));
  EXPECT_TRUE(table.find(zero, part(2000, 100)));
  EXPECT_FALSE(table.find(zero, part(999, 100)));
  EXPECT_FALSE(table.find(zero, part(5999, 2)));
  EXPECT_FALSE(table.find(zero, part(7000, 10)));
  EXPECT_FALSE(table.find(zero, part(2000, 0)));
}

TEST_F(RegisteredTable, has_a_key_for_each_device_from_its_first_use) {
  const int before = host.objects();
  auto registration = table.add(memory);
  EXPECT_EQ(host.objects(), before);
  EXPECT_NE(table.find(zero, part(0, 10))->local_key(), table.find(one, part(0, 10))->local_key());
  EXPECT_EQ(host.objects(), before + 2);
  EXPECT_TRUE(table.find(zero, part(10, 10)));
  EXPECT_EQ(host.objects(), before + 2);
  registration.reset();
  EXPECT_EQ(host.objects(), before);
  EXPECT_FALSE(table.find(zero, part(0, 10)));
}

TEST_F(RegisteredTable, what_others_may_write_has_a_key_of_its_own) {
  const int before = host.objects();
  const auto registration = table.add(memory);
  const auto local = table.find(zero, part(0, 10));
  const auto remote = table.find(zero, part(0, 10), RegisteredMemory::Access::remote_write);
  EXPECT_NE(local->local_key(), remote->remote_key());
  EXPECT_EQ(host.objects(), before + 2);
}

TEST_F(RegisteredTable, a_registration_ends_after_its_uses) {
  auto registration = table.add(memory);
  std::optional<MemoryTable::Use> use = table.find(zero, part(0, 10));
  std::atomic<bool> has_ended{false};
  std::thread releaser([&] {
    registration.reset();
    has_ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(has_ended);
  use.reset();
  releaser.join();
  EXPECT_TRUE(has_ended);
}

TEST_F(RegisteredTable, a_device_that_has_gone_is_closed_with_the_last_use_of_it) {
  const std::weak_ptr<Device> device = zero;
  const auto registration = table.add(memory);
  auto use = table.find(zero, part(0, 10));
  EXPECT_TRUE(table.find(one, part(0, 10)));
  host.remove_device("fake0");
  table.let_go_of_lost_devices();
  EXPECT_FALSE(table.find(zero, part(0, 10))) << "a connection that has not broken yet would keep it";
  EXPECT_TRUE(table.find(one, part(0, 10)));
  zero.reset();
  EXPECT_FALSE(device.expired());
  use.reset();
  EXPECT_TRUE(device.expired());
}

TEST_F(RegisteredTable, memory_that_cannot_be_locked_goes_unregistered) {
  host.allow_locked_memory(100);
  const auto registration = table.add(memory);
  EXPECT_FALSE(table.find(zero, part(0, 10)));
  host.allow_locked_memory(SIZE_MAX);
  EXPECT_TRUE(table.find(one, part(0, 10)));
}

/// At addresses where the host finds nothing.
TEST_F(RegisteredTable, memory_of_another_device_is_reached_by_its_descriptor) {
  const auto gpu = kernels::test::create_stand_in({.exports = true});
  const auto buffer = gpu->allocate(8192);
  const std::span<std::byte> there{static_cast<std::byte*>(buffer->data()), buffer->bytes()};
  const int before = host.objects();
  {
    const FileDescriptor dma_buf(gpu->export_memory(*buffer));
    auto registration = table.add(there, dma_buf.get());
    ASSERT_TRUE(table.find(zero, there)) << "its descriptor is needed again";
    ASSERT_TRUE(table.find(one, there.subspan(1000, 5000)));
    EXPECT_EQ(host.objects(), before + 2);
  }
  EXPECT_EQ(host.objects(), before);
}

TEST_F(RegisteredTable, memory_of_another_device_that_cannot_be_registered_is_not_found) {
  const auto gpu = kernels::test::create_stand_in({.exports = true});
  const auto buffer = gpu->allocate(8192);
  const std::span<std::byte> there{static_cast<std::byte*>(buffer->data()), buffer->bytes()};
  const FileDescriptor dma_buf(gpu->export_memory(*buffer));
  host.allow_dma_bufs(false);
  const auto registration = table.add(there, dma_buf.get());
  EXPECT_FALSE(table.find(zero, there));
}

}  // namespace
}  // namespace tenax::comm::verbs
