// Shared buffers in which two ends of a link meet, between two devices that must not touch memory that is not registered.
#include "comm/buffers/shared_buffer_pool.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "comm/transport/connections.hpp"
#include "kernels/error.hpp"
#include "tests/comm/asynchronous_ends.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kBytes = 20000;

class SharedBuffers : public ::testing::Test {
 protected:
  struct End {
    explicit End(int number, bool registers)
        : device(kernels::test::create_stand_in({.registers = registers})), shared_buffers(*device, number) {}
    std::unique_ptr<kernels::Device> device;
    SharedBufferPool shared_buffers;
  };

  void make(bool one_registers = true) {
    zero = std::make_unique<End>(0, true);
    one = std::make_unique<End>(1, one_registers);
    transports[0] =
        create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()});
    transports[1] =
        create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()});
    const Peer peers[] = {{0, "rank 0 (here)", transports[0]->addresses()},
                          {1, "rank 1 (here)", transports[1]->addresses()}};
    const auto connecting = transports[0]->connect(peers[1], peers[1].addresses[0], "places", patience());
    const auto accepting = transports[1]->accept(peers[0], "places", patience());
    areas[0] = connecting->area();
    areas[1] = accepting->area();
  }
  void open() {
    zero->shared_buffers.open(areas[0]);
    one->shared_buffers.open(areas[1]);
  }
  HostBuffer send(std::uint64_t number) { return zero->shared_buffers.buffer_for(key(number), kBytes); }
  HostBuffer receive(std::uint64_t number) { return one->shared_buffers.buffer_for(key(number), kBytes); }
  static MessageKey key(std::uint64_t number) { return {0, 4, number}; }
  static SharedBufferId buffer(const HostBuffer& host_buffer) {
    return SharedBufferId::of_code(host_buffer.shared_id);
  }

  std::unique_ptr<Transport> transports[2];
  std::shared_ptr<SharedMemoryArea> areas[2];
  std::unique_ptr<End> zero, one;
};

TEST_F(SharedBuffers, there_is_none_before_both_ends_are_open) {
  make();
  EXPECT_FALSE(send(0));
  zero->shared_buffers.open(areas[0]);
  EXPECT_FALSE(send(0));
  one->shared_buffers.open(areas[1]);
  EXPECT_TRUE(send(0));
}

TEST_F(SharedBuffers, both_ends_see_the_same_memory_whoever_comes_first) {
  make();
  open();
  const HostBuffer sent = send(0), there = receive(0), awaited = receive(1), late = send(1);
  EXPECT_EQ(sent.shared_id, there.shared_id);
  EXPECT_EQ(awaited.shared_id, late.shared_id);
  EXPECT_NE(sent.shared_id, awaited.shared_id);
  EXPECT_NE(sent.buffer->data(), there.buffer->data()) << "mapped twice in this process";
  sent.memory(kBytes).back() = std::byte{42};
  EXPECT_EQ(there.memory(kBytes).back(), std::byte{42});
}

/// As kernels with pages of 64 KiB demand.
TEST_F(SharedBuffers, all_that_is_mapped_begins_at_a_multiple_of_the_largest_page) {
  make();
  open();
  const HostBuffer buffers[] = {send(0), receive(1), send(2)};
  for (const HostBuffer& host_buffer : buffers) ASSERT_TRUE(host_buffer);
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string range, access, offset, rest;
       maps >> range >> access >> offset && std::getline(maps, rest);) {
    if (rest.find("tenax connection") == std::string::npos) continue;
    ++found;
    EXPECT_EQ(std::stoull(offset, nullptr, 16) % (64 << 10), 0U) << offset << rest;
  }
  EXPECT_GE(found, 5) << "rings and table of either end, and a buffer";
}

TEST_F(SharedBuffers, what_fits_into_a_page_has_none) {
  make();
  open();
  EXPECT_FALSE(zero->shared_buffers.buffer_for(key(0), 4095));
}

TEST_F(SharedBuffers, an_end_whose_device_refuses_does_without_and_so_does_the_other_with_its_buffers) {
  make(false);
  open();
  EXPECT_FALSE(receive(0));
  const HostBuffer sent = send(1);
  ASSERT_TRUE(sent);
  EXPECT_FALSE(receive(1));
  EXPECT_EQ(one->shared_buffers.memory(buffer(sent), kBytes).get()[5], std::byte{0})
      << "its host can read it";
}

TEST_F(SharedBuffers, a_sender_gets_its_buffer_back_when_the_receiver_has_left_it_too) {
  make();
  open();
  const HostBuffer sent = send(0), there = receive(0);
  zero->shared_buffers.release_sent(key(0), buffer(sent));
  const HostBuffer next = send(1);
  EXPECT_NE(next.shared_id, sent.shared_id) << "the receiver's device may still read";
  one->shared_buffers.release_received(key(0), buffer(there), true);
  EXPECT_EQ(send(2).shared_id, sent.shared_id);
}

TEST_F(SharedBuffers, a_sender_takes_a_buffer_back_of_which_the_receiver_knew_nothing) {
  make();
  open();
  const HostBuffer sent = send(0);
  zero->shared_buffers.release_sent(key(0), buffer(sent));
  EXPECT_EQ(send(1).shared_id, sent.shared_id);
}

TEST_F(SharedBuffers, a_message_without_a_receive_keeps_its_buffer) {
  make();
  open();
  const HostBuffer sent = send(0);
  one->shared_buffers.retain(key(0), buffer(sent));
  zero->shared_buffers.release_sent(key(0), buffer(sent));
  EXPECT_NE(send(1).shared_id, sent.shared_id);
  EXPECT_EQ(receive(0).shared_id, sent.shared_id) << "posted late";
  one->shared_buffers.release_received(key(0), buffer(sent), true);
  EXPECT_EQ(send(2).shared_id, sent.shared_id);
}

TEST_F(SharedBuffers, a_receivers_buffer_is_free_once_its_message_was_read) {
  make();
  open();
  const HostBuffer awaited = receive(0), sent = send(0);
  zero->shared_buffers.release_sent(key(0), buffer(sent));
  EXPECT_NE(receive(1).shared_id, awaited.shared_id);
  one->shared_buffers.release_received(key(0), buffer(awaited), true);
  EXPECT_EQ(receive(2).shared_id, awaited.shared_id);
}

TEST_F(SharedBuffers, a_receive_that_is_given_up_frees_its_buffer_only_if_no_sender_writes_there) {
  make();
  open();
  const HostBuffer unknown = receive(0);
  one->shared_buffers.release_received(key(0), buffer(unknown), false);
  const HostBuffer awaited = receive(1);
  EXPECT_EQ(awaited.shared_id, unknown.shared_id);
  ASSERT_EQ(send(1).shared_id, awaited.shared_id);
  one->shared_buffers.release_received(key(1), buffer(awaited), false);
  EXPECT_NE(receive(2).shared_id, awaited.shared_id);
}

TEST_F(SharedBuffers, what_the_other_end_says_of_a_buffer_is_not_believed_beyond_its_half) {
  make();
  open();
  const auto table = areas[0]->map(0, sizeof(BufferDirectory::Memory));
  auto& memory = *reinterpret_cast<BufferDirectory::Memory*>(table.get());
  const std::size_t far = SharedMemoryArea::kBytes - 4096;
  const std::pair<std::size_t, std::size_t> lies[] = {
      {4095, 8192}, {0, 8192}, {far, 8192}, {~std::size_t{4095}, 8192}, {1 << 20, ~std::size_t{0}},
      {1 << 20, 0}};
  std::uint64_t number = 0;
  for (const auto& [offset, bytes] : lies) {
    const SharedBufferId sent = buffer(send(number));
    BufferDirectory::Row& row = memory.rows[0][sent.index];
    row.offset = offset;
    row.bytes = bytes;
    EXPECT_FALSE(receive(number++));
    EXPECT_THROW(one->shared_buffers.memory(sent, 1), kernels::Error);
  }
}

TEST_F(SharedBuffers,
       a_message_larger_than_its_buffer_is_refused_and_so_is_one_in_a_buffer_that_is_not_offered) {
  make();
  open();
  const SharedBufferId sent = buffer(send(0));
  EXPECT_NO_THROW(one->shared_buffers.memory(sent, kBytes));
  EXPECT_THROW(one->shared_buffers.memory(sent, std::size_t{1} << 40), kernels::Error);
  EXPECT_THROW(one->shared_buffers.retain(key(1), sent), kernels::Error);
  EXPECT_NO_THROW(one->shared_buffers.retain(key(0), sent));
}

TEST_F(SharedBuffers, what_was_mapped_keeps_its_size_whatever_is_said_later) {
  make();
  open();
  const HostBuffer sent = send(0);
  const std::size_t before = receive(0).buffer->bytes();
  const auto table = areas[0]->map(0, sizeof(BufferDirectory::Memory));
  auto& memory = *reinterpret_cast<BufferDirectory::Memory*>(table.get());
  memory.rows[0][buffer(sent).index].bytes = std::size_t{1} << 40;
  EXPECT_EQ(receive(0).buffer->bytes(), before);
}

TEST_F(SharedBuffers, a_buffer_of_another_size_is_not_used) {
  make();
  open();
  ASSERT_TRUE(one->shared_buffers.buffer_for(key(0), 4096));
  EXPECT_FALSE(zero->shared_buffers.buffer_for(key(0), kBytes));
}

TEST_F(SharedBuffers, a_reader_wakes_when_so_much_is_there_and_when_nobody_will_fill_it) {
  make();
  open();
  const HostBuffer sent = send(0), there = receive(0);
  const auto never = [] { return false; };
  zero->shared_buffers.fill(buffer(sent), 10);
  EXPECT_EQ(one->shared_buffers.await(buffer(there), 10, never, patience()), FutexEvent::Outcome::done);
  EXPECT_EQ(one->shared_buffers.await(buffer(there), 11, never, kernels::Deadline::after_s(0.01)),
            FutexEvent::Outcome::deadline);
  std::thread filler([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    zero->shared_buffers.fill(buffer(sent), kBytes);
  });
  EXPECT_EQ(one->shared_buffers.await(buffer(there), kBytes, never, patience()), FutexEvent::Outcome::done);
  filler.join();
  const auto always = [] { return true; };
  EXPECT_EQ(one->shared_buffers.await(buffer(there), kBytes + 1, always, patience()),
            FutexEvent::Outcome::over);
}

}  // namespace
}  // namespace tenax::comm
