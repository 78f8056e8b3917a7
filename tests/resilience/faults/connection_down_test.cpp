// Connections whose path goes down.
#include "tests/resilience/faults/injected_connections.hpp"

namespace tenax::resilience::connections {
namespace {

TEST(LinkDown, breaks_the_connections_of_an_address_at_both_ends_and_heals_for_new_ones) {
  LinkFault fault = down("10.0.0.5");
  fault.window.from_step = 1;
  fault.window.to_step = 2;
  Ranks ranks({fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "a"), receiver = ranks.accept("a");
  auto other_sender = ranks.connect(kOther, "b"), other_receiver = ranks.accept("b");
  std::string blocked;
  std::thread receiving([&] { blocked = error_of([&] { receiver->receive(Deadline::after_s(100)); }); });
  ranks.begin_step(1);
  receiving.join();
  EXPECT_NE(blocked, "no error");  // of this end's cut or the other's, whichever came first
  EXPECT_TRUE(says_down(error_of([&] { sender->send(numbered(0), {}, Ranks::soon()); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, "c"); })));
  other_sender->send(numbered(5), {}, Ranks::soon());
  EXPECT_EQ(other_receiver->receive(Ranks::soon())->number, 5U);

  ranks.begin_step(2);
  EXPECT_TRUE(says_down(error_of([&] { sender->send(numbered(0), {}, Ranks::soon()); })));
  sender = ranks.connect(kAddress, "a");
  receiver = ranks.accept("a");
  sender->send(numbered(6), {}, Ranks::soon());
  EXPECT_EQ(receiver->receive(Ranks::soon())->number, 6U);
}

TEST(LinkDown, that_comes_within_a_step_breaks_a_connection_at_its_next_message) {
  LinkFault fault = down("10.0.0.5");
  fault.window.from_s = 0.2;
  Ranks ranks({fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "a"), other = ranks.connect(kOther, "b");
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(says_down(error_of([&] { sender->send(numbered(0), {}, Ranks::soon()); })));
  other->send(numbered(0), {}, Ranks::soon());
}

TEST(LinkDown, of_the_direct_path_spares_delegates) {
  Ranks ranks({down("direct")});
  auto direct = ranks.connect(kAddress, kDirect);
  auto delegate = ranks.connect(kAddress, "delegate");
  ranks.begin_step(0);
  EXPECT_TRUE(says_down(error_of([&] { direct->send(numbered(0), {}, Ranks::soon()); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, kDirect); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.accept(kDirect, 100); })));
  delegate->send(numbered(0), {}, Ranks::soon());
}

TEST(LinkDown, of_the_direct_path_comes_in_mid_iteration) {
  LinkFault fault = down("direct");
  fault.window.from_step = 1;
  fault.passing = 3;
  Ranks ranks({fault});
  ranks.begin_step(1);
  auto lower = ranks.connect(kAddress, kDirect), upper = ranks.accept(kDirect);
  auto delegate = ranks.connect(kAddress, "delegate");
  const auto pass = [](Connection& from, Connection& to, std::uint64_t number) {
    from.send(numbered(number), {}, Ranks::soon());
    const auto header = to.receive(Ranks::soon());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->number, number);
  };
  pass(*lower, *upper, 0);
  pass(*upper, *lower, 1);
  lower->send(numbered(2), {}, Ranks::soon());
  EXPECT_TRUE(says_down(error_of([&] { lower->send(numbered(3), {}, Ranks::soon()); })));
  EXPECT_NE(error_of([&] {
              for (int i = 0; i < 2; ++i) upper->receive(Ranks::soon());
            }),
            "no error");
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, kDirect); })));
  delegate->send(numbered(0), {}, Ranks::soon());
}

TEST(LinkDown, wakes_a_message_that_is_held) {
  LinkFault fault = down("direct");
  fault.window.from_step = 1;
  Ranks ranks({slow(1000), fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, kDirect);
  std::string message;
  std::thread sending(
      [&] { message = error_of([&] { sender->send(numbered(0), {}, Deadline::after_s(100)); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Stopwatch stopwatch;
  ranks.injectors[0].begin_step(1);
  sending.join();
  EXPECT_LT(stopwatch.elapsed_s(), 50);
  EXPECT_TRUE(says_down(message)) << message;
}

}  // namespace
}  // namespace tenax::resilience::connections
