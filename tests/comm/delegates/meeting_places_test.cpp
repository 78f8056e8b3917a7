// Places in which two ends of a link meet, between two devices that must not touch memory that is not registered.
#include "comm/buffers/meeting_places.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "comm/transport/shared_memory_connection.hpp"
#include "kernels/error.hpp"
#include "tests/comm/asynchronous_ends.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kBytes = 20000;

class Places : public ::testing::Test {
 protected:
  struct End {
    explicit End(int number, bool registers)
        : device(kernels::test::create_stand_in({.registers = registers})), places(*device, number) {}
    std::unique_ptr<kernels::Device> device;
    MeetingPlaces places;
  };

  void make(bool one_registers = true) {
    zero = std::make_unique<End>(0, true);
    one = std::make_unique<End>(1, one_registers);
    transports[0] = create_shared_memory_transport({.interfaces = {}, .secret = one_job()});
    transports[1] = create_shared_memory_transport({.interfaces = {}, .secret = one_job()});
    const Peer peers[] = {{0, "rank 0 (here)", transports[0]->addresses()},
                          {1, "rank 1 (here)", transports[1]->addresses()}};
    const auto connecting = transports[0]->connect(peers[1], peers[1].addresses[0], "places", patience());
    const auto accepting = transports[1]->accept(peers[0], "places", patience());
    areas[0] = connecting->area();
    areas[1] = accepting->area();
  }
  void open() {
    zero->places.open(areas[0]);
    one->places.open(areas[1]);
  }
  HostStaging::Slot send(std::uint64_t number) { return zero->places.meet(key(number), kBytes); }
  HostStaging::Slot receive(std::uint64_t number) { return one->places.meet(key(number), kBytes); }
  static MessageKey key(std::uint64_t number) { return {0, 4, number}; }
  static PlaceId place(const HostStaging::Slot& slot) { return PlaceId::of_code(slot.place); }

  std::unique_ptr<Transport> transports[2];
  std::shared_ptr<SharedMemoryArea> areas[2];
  std::unique_ptr<End> zero, one;
};

TEST_F(Places, there_is_none_before_both_ends_are_open) {
  make();
  EXPECT_FALSE(send(0));
  zero->places.open(areas[0]);
  EXPECT_FALSE(send(0));
  one->places.open(areas[1]);
  EXPECT_TRUE(send(0));
}

TEST_F(Places, both_ends_see_the_same_memory_whoever_comes_first) {
  make();
  open();
  const HostStaging::Slot sent = send(0), there = receive(0), awaited = receive(1), late = send(1);
  EXPECT_EQ(sent.place, there.place);
  EXPECT_EQ(awaited.place, late.place);
  EXPECT_NE(sent.place, awaited.place);
  EXPECT_NE(sent.buffer->data(), there.buffer->data()) << "mapped twice in this process";
  sent.memory(kBytes).back() = std::byte{42};
  EXPECT_EQ(there.memory(kBytes).back(), std::byte{42});
}

TEST_F(Places, what_fits_into_a_page_has_none) {
  make();
  open();
  EXPECT_FALSE(zero->places.meet(key(0), 4095));
}

TEST_F(Places, an_end_whose_device_refuses_does_without_and_so_does_the_other_with_its_places) {
  make(false);
  open();
  EXPECT_FALSE(receive(0));
  const HostStaging::Slot sent = send(1);
  ASSERT_TRUE(sent);
  EXPECT_FALSE(receive(1));
  EXPECT_EQ(one->places.memory(place(sent), kBytes).get()[5], std::byte{0}) << "its host can read it";
}

TEST_F(Places, a_sender_gets_its_place_back_when_the_receiver_has_left_it_too) {
  make();
  open();
  const HostStaging::Slot sent = send(0), there = receive(0);
  zero->places.leave_sent(key(0), place(sent));
  const HostStaging::Slot next = send(1);
  EXPECT_NE(next.place, sent.place) << "the receiver's device may still read";
  one->places.leave_received(key(0), place(there), true);
  EXPECT_EQ(send(2).place, sent.place);
}

TEST_F(Places, a_sender_takes_a_place_back_of_which_the_receiver_knew_nothing) {
  make();
  open();
  const HostStaging::Slot sent = send(0);
  zero->places.leave_sent(key(0), place(sent));
  EXPECT_EQ(send(1).place, sent.place);
}

TEST_F(Places, a_message_without_a_receive_keeps_its_place) {
  make();
  open();
  const HostStaging::Slot sent = send(0);
  one->places.keep(key(0), place(sent));
  zero->places.leave_sent(key(0), place(sent));
  EXPECT_NE(send(1).place, sent.place);
  EXPECT_EQ(receive(0).place, sent.place) << "posted late";
  one->places.leave_received(key(0), place(sent), true);
  EXPECT_EQ(send(2).place, sent.place);
}

TEST_F(Places, a_receivers_place_is_free_once_its_message_was_read) {
  make();
  open();
  const HostStaging::Slot awaited = receive(0), sent = send(0);
  zero->places.leave_sent(key(0), place(sent));
  EXPECT_NE(receive(1).place, awaited.place);
  one->places.leave_received(key(0), place(awaited), true);
  EXPECT_EQ(receive(2).place, awaited.place);
}

TEST_F(Places, a_receive_that_is_given_up_frees_its_place_only_if_no_sender_writes_there) {
  make();
  open();
  const HostStaging::Slot unknown = receive(0);
  one->places.leave_received(key(0), place(unknown), false);
  const HostStaging::Slot awaited = receive(1);
  EXPECT_EQ(awaited.place, unknown.place);
  ASSERT_EQ(send(1).place, awaited.place);
  one->places.leave_received(key(1), place(awaited), false);
  EXPECT_NE(receive(2).place, awaited.place);
}

TEST_F(Places, what_the_other_end_says_of_a_place_is_not_believed_beyond_its_half) {
  make();
  open();
  const auto table = areas[0]->map(0, sizeof(PlaceLedger::Memory));
  auto& memory = *reinterpret_cast<PlaceLedger::Memory*>(table.get());
  const std::size_t far = SharedMemoryArea::kBytes - 4096;
  const std::pair<std::size_t, std::size_t> lies[] = {
      {4095, 8192}, {0, 8192}, {far, 8192}, {~std::size_t{4095}, 8192}, {1 << 20, ~std::size_t{0}},
      {1 << 20, 0}};
  std::uint64_t number = 0;
  for (const auto& [offset, bytes] : lies) {
    const PlaceId sent = place(send(number));
    PlaceLedger::Row& row = memory.rows[0][sent.index];
    row.offset = offset;
    row.bytes = bytes;
    EXPECT_FALSE(receive(number++));
    EXPECT_THROW(one->places.memory(sent, 1), kernels::Error);
  }
}

TEST_F(Places, a_message_larger_than_its_place_is_refused_and_so_is_one_in_a_place_that_is_not_offered) {
  make();
  open();
  const PlaceId sent = place(send(0));
  EXPECT_NO_THROW(one->places.memory(sent, kBytes));
  EXPECT_THROW(one->places.memory(sent, std::size_t{1} << 40), kernels::Error);
  EXPECT_THROW(one->places.keep(key(1), sent), kernels::Error);
  EXPECT_NO_THROW(one->places.keep(key(0), sent));
}

TEST_F(Places, what_was_mapped_keeps_its_size_whatever_is_said_later) {
  make();
  open();
  const HostStaging::Slot sent = send(0);
  const std::size_t before = receive(0).buffer->bytes();
  const auto table = areas[0]->map(0, sizeof(PlaceLedger::Memory));
  auto& memory = *reinterpret_cast<PlaceLedger::Memory*>(table.get());
  memory.rows[0][place(sent).index].bytes = std::size_t{1} << 40;
  EXPECT_EQ(receive(0).buffer->bytes(), before);
}

TEST_F(Places, a_place_of_another_size_is_not_used) {
  make();
  open();
  ASSERT_TRUE(one->places.meet(key(0), 4096));
  EXPECT_FALSE(zero->places.meet(key(0), kBytes));
}

TEST_F(Places, a_reader_wakes_when_so_much_is_there_and_when_nobody_will_fill_it) {
  make();
  open();
  const HostStaging::Slot sent = send(0), there = receive(0);
  const auto never = [] { return false; };
  zero->places.fill(place(sent), 10);
  EXPECT_EQ(one->places.await(place(there), 10, never, patience()), FutexEvent::Outcome::done);
  EXPECT_EQ(one->places.await(place(there), 11, never, kernels::Deadline::after_s(0.01)),
            FutexEvent::Outcome::deadline);
  std::thread filler([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    zero->places.fill(place(sent), kBytes);
  });
  EXPECT_EQ(one->places.await(place(there), kBytes, never, patience()), FutexEvent::Outcome::done);
  filler.join();
  const auto always = [] { return true; };
  EXPECT_EQ(one->places.await(place(there), kBytes + 1, always, patience()), FutexEvent::Outcome::over);
}

}  // namespace
}  // namespace tenax::comm
