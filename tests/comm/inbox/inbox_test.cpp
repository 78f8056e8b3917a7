// The inbox: messages and receives that meet in either order, from several threads.
#include "comm/inbox/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "kernels/error.hpp"
#include "tests/comm/contributions.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

class InboxTest : public ::testing::Test {
 protected:
  /// Message `number` of `tag`, whose floats are all `value`.
  void deliver(Tag tag, std::uint64_t number, float value, std::size_t floats = 4) {
    const std::vector<float> payload(floats, value);
    inbox.deliver(header_of(tag, number, floats), [&](std::span<std::byte> memory) {
      ASSERT_EQ(memory.size(), floats * sizeof(float));
      std::memcpy(memory.data(), payload.data(), memory.size());
    });
  }
  static MessageHeader header_of(Tag tag, std::uint64_t number, std::size_t floats) {
    MessageHeader header;
    header.tag = tag;
    header.number = number;
    header.bytes = header.payload_bytes = floats * sizeof(float);
    header.started_s = 12.5;
    return header;
  }
  static std::string message_of(Transfer& transfer) {
    try {
      transfer.wait(Deadline::after_s(10));
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      return error.what();
    }
    return "no error";
  }

  std::unique_ptr<kernels::Device> device = kernels::create_cpu_device();
  Signal signal;
  Inbox inbox{*device, signal, "rank 0 (here)", "rank 1 (there)"};
  std::vector<float> first = std::vector<float>(4), second = std::vector<float>(4);
};

TEST_F(InboxTest, an_expected_message_is_read_straight_into_its_tensor) {
  const TransferPtr receive = inbox.post(tensor_of(first), 3);
  EXPECT_FALSE(receive->done());
  inbox.deliver(header_of(3, 0, 4), [&](std::span<std::byte> memory) {
    EXPECT_EQ(static_cast<void*>(memory.data()), first.data());
  });
  EXPECT_TRUE(receive->done());
  EXPECT_EQ(receive->timing().started_s, 12.5);
  EXPECT_TRUE(receive->timing().arrived_s.has_value());
}

TEST_F(InboxTest, an_early_message_waits_for_its_receive) {
  deliver(3, 0, 7);
  EXPECT_TRUE(inbox.post(tensor_of(first), 3)->done());
  EXPECT_EQ(first, std::vector<float>(4, 7));
}

TEST_F(InboxTest, messages_are_matched_by_tag_and_number_whatever_order_they_come_in) {
  const TransferPtr a = inbox.post(tensor_of(first), 3), b = inbox.post(tensor_of(second), 3);
  deliver(4, 0, 9);
  deliver(3, 1, 2);
  EXPECT_FALSE(a->done());
  EXPECT_TRUE(b->done());
  deliver(3, 0, 1);
  EXPECT_TRUE(a->done());
  EXPECT_EQ(first, std::vector<float>(4, 1));
  EXPECT_EQ(second, std::vector<float>(4, 2));
}

TEST_F(InboxTest, a_message_that_comes_twice_is_taken_once) {
  deliver(3, 0, 1);
  const TransferPtr a = inbox.post(tensor_of(first), 3), b = inbox.post(tensor_of(second), 3);
  deliver(3, 0, 5);
  EXPECT_EQ(first, std::vector<float>(4, 1));
  EXPECT_FALSE(b->done());
  deliver(3, 1, 2);
  deliver(3, 1, 5);
  deliver(3, 0, 5);
  EXPECT_EQ(second, std::vector<float>(4, 2));
}

TEST_F(InboxTest, a_message_whose_connection_breaks_in_the_middle_can_be_delivered_again) {
  const TransferPtr receive = inbox.post(tensor_of(first), 3);
  const auto broken = [](std::span<std::byte>) {
    throw kernels::Error(kernels::Scope::link, "the connection is lost");
  };
  EXPECT_THROW(inbox.deliver(header_of(3, 0, 4), broken), kernels::Error);
  EXPECT_THROW(inbox.deliver(header_of(3, 1, 4), broken), kernels::Error);  // without a receive
  EXPECT_FALSE(receive->done());
  deliver(3, 0, 1);
  deliver(3, 1, 2);
  EXPECT_TRUE(receive->done());
  inbox.post(tensor_of(second), 3)->wait(Deadline::after_s(10));
  EXPECT_EQ(first, std::vector<float>(4, 1));
  EXPECT_EQ(second, std::vector<float>(4, 2));
}

TEST_F(InboxTest, refuses_a_message_of_another_length) {
  const TransferPtr expected = inbox.post(tensor_of(first), 3);
  deliver(3, 0, 1, 5);
  deliver(3, 1, 1, 3);
  const TransferPtr early = inbox.post(tensor_of(second), 3);
  EXPECT_NE(message_of(*expected).find("rank 1 (there) sent 20 bytes to rank 0 (here)"), std::string::npos);
  EXPECT_NE(message_of(*early).find("sent 12 bytes"), std::string::npos);
}

TEST_F(InboxTest, memory_for_a_size_that_nobody_here_has_named_grows_with_what_comes) {
  MessageHeader header = header_of(3, 0, 4);
  header.bytes = header.payload_bytes = std::uint64_t{1} << 60;
  std::size_t largest = 0;
  int parts = 0;
  EXPECT_THROW(inbox.deliver(header,
                             [&](std::span<std::byte> memory) {
                               largest = std::max(largest, memory.size());
                               if (++parts == 4) throw kernels::Error(kernels::Scope::link, "nothing comes");
                             }),
               kernels::Error);
  EXPECT_LE(largest, std::size_t{8} << 20);
}

TEST_F(InboxTest, a_large_message_that_comes_early_arrives_whole) {
  std::vector<float> sent(1000003), come(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<float>(i);
  auto rest = std::as_bytes(std::span(sent));
  inbox.deliver(header_of(3, 0, sent.size()), [&](std::span<std::byte> memory) {
    std::copy_n(rest.begin(), memory.size(), memory.begin());
    rest = rest.subspan(memory.size());
  });
  inbox.post(tensor_of(come), 3)->wait(Deadline::after_s(10));
  EXPECT_EQ(come, sent);
}

TEST_F(InboxTest, a_payload_of_another_size_than_was_posted_takes_no_memory) {
  const TransferPtr expected = inbox.post(tensor_of(first), 3);
  MessageHeader header = header_of(3, 0, 4);
  header.bytes = header.payload_bytes = 1000000;
  std::size_t largest = 0, total = 0;
  inbox.deliver(header, [&](std::span<std::byte> memory) {
    largest = std::max(largest, memory.size());
    total += memory.size();
  });
  EXPECT_EQ(total, 1000000U);
  EXPECT_LE(largest, 65536U);
  EXPECT_NE(message_of(*expected).find("sent 1000000 bytes"), std::string::npos);
}

TEST_F(InboxTest, refuses_headers_that_no_peer_sends) {
  std::vector<MessageHeader> wrong(6, header_of(3, 0, 4));
  wrong[0].tag = -1;
  wrong[1].tag = kMaxTag;
  wrong[2].payload_bytes = 0;  // the tensor's bytes would be missing
  wrong[3].payload_bytes = 17;
  wrong[4].shared_buffer = 1;  // this link has none
  wrong[5].late_s = std::numeric_limits<double>::infinity();
  for (const MessageHeader& header : wrong) {
    const auto read = [](std::span<std::byte>) { FAIL() << "nothing is read"; };
    EXPECT_THROW(inbox.deliver(header, read), kernels::Error);
    EXPECT_THROW(inbox.deliver_shared(header, [](std::size_t) {}), kernels::Error);
  }
  deliver(3, 0, 1);
  EXPECT_TRUE(inbox.post(tensor_of(first), 3)->done());
}

TEST_F(InboxTest, an_empty_message_is_a_message) {
  std::vector<float> nothing;
  const TransferPtr receive = inbox.post(tensor_of(nothing), 3);
  EXPECT_FALSE(receive->done());
  deliver(3, 0, 1, 0);
  EXPECT_TRUE(receive->done());
}

TEST_F(InboxTest, a_failed_link_keeps_what_has_arrived_and_fails_the_rest) {
  deliver(3, 0, 1);
  const TransferPtr waiting = inbox.post(tensor_of(second), 4);
  inbox.fail(std::make_exception_ptr(kernels::Error(kernels::Scope::link, "no address answers")));
  EXPECT_EQ(message_of(*waiting), "no address answers");
  EXPECT_TRUE(inbox.post(tensor_of(first), 3)->done());
  EXPECT_EQ(message_of(*inbox.post(tensor_of(first), 3)), "no address answers");
}

TEST_F(InboxTest, a_receive_without_a_message_ends_at_its_deadline_with_names) {
  const TransferPtr receive = inbox.post(tensor_of(first), 3);
  try {
    receive->wait(Deadline::after_s(0.05));
    ADD_FAILURE() << "nothing was sent";
  } catch (const kernels::Error& error) {
    EXPECT_NE(std::string(error.what()).find("receive of 16 bytes (tag 3): rank 0 (here) waited"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(InboxTest, a_receive_that_is_given_up_is_not_written_any_more) {
  auto memory = std::make_unique<std::vector<float>>(4);
  TransferPtr receive = inbox.post(tensor_of(*memory), 3);
  std::thread reader([&] {
    inbox.deliver(header_of(3, 0, 4), [&](std::span<std::byte> there) {
      signal.notify();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::memset(there.data(), 1, there.size());  // asan sees whether that memory is still there
    });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  receive.reset();
  memory.reset();
  reader.join();
}

TEST_F(InboxTest, takes_messages_from_several_threads_while_receives_are_posted) {
  constexpr int kMessages = 3000, kTags = 7, kReaders = 4;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < kReaders; ++reader)
    readers.emplace_back([&, reader] {
      for (int i = reader; i < kMessages; i += kReaders)
        deliver(i % kTags, static_cast<std::uint64_t>(i / kTags), static_cast<float>(i));
    });
  std::vector<std::vector<float>> values(kMessages, std::vector<float>(4));
  std::vector<TransferPtr> receives;
  for (int i = 0; i < kMessages; ++i)
    receives.push_back(inbox.post(tensor_of(values[static_cast<std::size_t>(i)]), i % kTags));
  for (const TransferPtr& receive : receives) receive->wait(Deadline::after_s(60));
  for (int i = 0; i < kMessages; ++i)
    ASSERT_EQ(values[static_cast<std::size_t>(i)], std::vector<float>(4, static_cast<float>(i)));
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace tenax::comm
