// Copies of messages to a device and from it, whose counts of pieces go round.
#include "comm/inbox/copy_in.hpp"

#include <limits>

#include "comm/delegates/copier.hpp"
#include "tests/comm/asynchronous_ends.hpp"

namespace tenax::comm {
namespace {

constexpr std::uint32_t kLastCount = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kFloats = 100;

class Counts : public ::testing::Test {
 protected:
  std::unique_ptr<kernels::Event> recorded() {
    auto event = device->create_event();
    stream->record(*event);
    return event;
  }
  static float value_of(int message) { return static_cast<float>(message + 1); }
  static std::vector<float> floats_of(int message) { return std::vector<float>(kFloats, value_of(message)); }

  std::unique_ptr<kernels::Device> device = kernels::test::create_stand_in({.jitter_us = 100});
  std::unique_ptr<kernels::Stream> stream = device->create_stream();
};

class LandingTest : public Counts {
 protected:
  struct Message {
    explicit Message(kernels::Device& device) : floats(device, kFloats) {}
    DeviceFloats floats;
    HostBuffer host_buffer;
    CopyIn::Tickets tickets;
  };
  /// Messages on their way around the last count; none has come.
  void expect(CopyIn& copy_in, int count) {
    for (int m = 0; m < count; ++m) {
      auto& message = *messages.emplace_back(std::make_unique<Message>(*device));
      message.host_buffer = staging.take(kFloats * sizeof(float));
      message.tickets = copy_in.draw_tickets(1);
      copy_in.copy(message.host_buffer, message.floats.tensor(), *recorded(), message.tickets);
    }
  }
  void mark_arrived(CopyIn& copy_in, int m) {
    Message& message = *messages[static_cast<std::size_t>(m)];
    std::fill_n(static_cast<float*>(message.host_buffer.buffer->data()), kFloats, value_of(m));
    copy_in.mark_arrived(message.tickets.first);
  }
  bool is_received(int m) const { return messages[static_cast<std::size_t>(m)]->host_buffer.copied->done(); }

  HostStaging staging{*device};
  std::vector<std::unique_ptr<Message>> messages;
};

TEST_F(LandingTest, messages_land_in_turn_beyond_the_last_count) {
  CopyIn copy_in(*device, kLastCount - 1);
  expect(copy_in, 6);
  for (const int m : {1, 0, 3, 2, 5}) mark_arrived(copy_in, m);
  messages[3]->host_buffer.copied->wait(patience());
  EXPECT_FALSE(is_received(4));
  EXPECT_FALSE(is_received(5)) << "the copy did not wait for the message before it";
  mark_arrived(copy_in, 4);
  messages[5]->host_buffer.copied->wait(patience());
  for (const auto& message : messages) message->floats.fetch(*stream);
  stream->synchronize(patience());
  for (int m = 0; m < 6; ++m) EXPECT_EQ(messages[static_cast<std::size_t>(m)]->floats.values(), floats_of(m));
}

TEST_F(LandingTest, once_open_it_waits_for_nothing_on_either_side_of_the_last_count) {
  CopyIn copy_in(*device, kLastCount - 1);
  expect(copy_in, 6);
  mark_arrived(copy_in, 0);
  copy_in.cancel();
  messages[5]->host_buffer.copied->wait(patience());
}

TEST_F(Counts, messages_are_copied_out_beyond_the_last_count) {
  std::mutex mutex;
  std::condition_variable changed;
  int copied = 0;
  SharedBufferPool shared_buffers(*device, 0);
  const Copier::Events events = {[](const OutgoingPtr&) {},
                                 [&](const OutgoingPtr&) {
                                   const std::lock_guard lock(mutex);
                                   ++copied;
                                   changed.notify_all();
                                 },
                                 [](const Failure& failure) { ADD_FAILURE() << failure.sentence; }};
  const auto copier = create_stream_copier(*device, nullptr, shared_buffers, events, nullptr, kLastCount - 1);
  std::vector<std::unique_ptr<DeviceFloats>> tensors;
  std::vector<OutgoingPtr> messages;
  const auto gate = device->create_flag();
  stream->wait(*gate, 1);
  for (int m = 0; m < 4; ++m) {
    tensors.push_back(std::make_unique<DeviceFloats>(*device, kFloats));
    tensors.back()->write(*stream, floats_of(m));
    messages.push_back(std::make_shared<OutgoingMessage>());
    messages.back()->tensor = tensors.back()->tensor();
    messages.back()->ready = recorded();
    copier->add(messages.back());
  }
  std::unique_lock lock(mutex);
  EXPECT_EQ(copied, 0) << "told of a copy before it was made";
  gate->set(1);
  ASSERT_TRUE(changed.wait_until(lock, patience().when(), [&] { return copied == 4; }));
  for (int m = 0; m < 4; ++m) {
    const auto* const host =
        reinterpret_cast<const float*>(messages[static_cast<std::size_t>(m)]->payload.data());
    EXPECT_EQ(std::vector<float>(host, host + kFloats), floats_of(m));
  }
}

}  // namespace
}  // namespace tenax::comm
