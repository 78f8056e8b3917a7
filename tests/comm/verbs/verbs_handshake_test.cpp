// An accepting end whose peer, played by hand, does not go on with the handshake.
#include "comm/verbs/verbs_handshake.hpp"

#include <sys/socket.h>

#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class VerbsHandshake : public VerbsTest {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    maker_socket = FileDescriptor(pair[0]);
    socket = FileDescriptor(pair[1]);
    maker.set_other_nonce(acceptor.nonce());
    acceptor.set_other_nonce(maker.nonce());
    maker_messages.emplace(maker_socket.get(), maker, request, "there", Deadline::after_s(kPatience_s));
    maker_messages->send("65536\n" + PortAddress(fake_port(Device::open("fake0"))).text());
  }
  /// The acceptor's end gets as far as the test of the path.
  void go_on_to_the_test() {
    maker_messages->receive();
    maker_messages->send("1 1 2 2 0 0 0 0");
    EXPECT_EQ(maker_messages->receive(), "ready");
  }
  std::string refusal_of_acceptor(double deadline_s, kernels::Scope scope = kernels::Scope::link) {
    ProvenMessages messages(socket.get(), acceptor, request, "here", Deadline::after_s(deadline_s));
    return error_of(
        [&] {
          accept_over(messages,
                      {ports,
                       {65536},
                       {},
                       std::make_shared<MemoryTable>(),
                       book,
                       request.from,
                       "purpose",
                       std::make_shared<Worker>()},
                      "verbs:here", 0);
        },
        scope);
  }

  std::vector<Port> ports{fake_port(Device::open("fake1"))};  // the acceptor's
  const std::shared_ptr<PathBook> book = std::make_shared<PathBook>(false);
  FileDescriptor maker_socket, socket;
  ConnectionRequest request{Identity::random(), Identity::random(), "purpose"};
  Challenge maker{one_job(), ConnectionEnd::connecting}, acceptor{one_job(), ConnectionEnd::accepting};
  std::optional<ProvenMessages> maker_messages;
};

TEST_F(VerbsHandshake, nothing_is_made_for_a_maker_that_has_given_up) {
  const std::uint32_t made = host.made();
  maker_socket = {};
  const std::string message = refusal_of_acceptor(5);
  EXPECT_NE(message.find("here: the other end left in the middle of the handshake"), std::string::npos)
      << message;
  EXPECT_EQ(host.made(), made);
}

TEST_F(VerbsHandshake, a_maker_that_waits_is_told_why_nothing_can_be_made) {
  host.allow_locked_memory(0);
  const std::string message = refusal_of_acceptor(5, kernels::Scope::rank);
  EXPECT_NE(message.find("this process may lock"), std::string::npos) << message;
  EXPECT_NE(error_of([&] { maker_messages->receive(); }).find("this process may lock"), std::string::npos);
}

TEST_F(VerbsHandshake, a_maker_that_says_nothing_more_is_waited_for_until_the_deadline) {
  const std::string message = refusal_of_acceptor(0.2);
  EXPECT_NE(message.find("did not go on with the handshake"), std::string::npos) << message;
}

TEST_F(VerbsHandshake, nobody_waits_for_a_test_over_a_port_that_goes_down) {
  std::thread other([this] {
    go_on_to_the_test();
    book->port_changed("fake1:1", BreakReason::port_down);
  });
  const std::string message = refusal_of_acceptor(kPatience_s);
  other.join();
  EXPECT_NE(message.find("one of its ports went down while it was tested"), std::string::npos) << message;
  EXPECT_EQ(book->failures_text(request.from), "");
}

TEST_F(VerbsHandshake, no_path_is_to_blame_for_a_maker_that_leaves_in_the_test) {
  std::thread other([this] {
    go_on_to_the_test();
    maker_socket = {};
  });
  const std::string message = refusal_of_acceptor(kPatience_s);
  other.join();
  EXPECT_NE(message.find("the other end left"), std::string::npos) << message;
  EXPECT_EQ(book->failures_text(request.from), "");
}

TEST_F(VerbsHandshake, a_message_has_room_for_what_many_ports_of_many_partitions_are_told_with) {
  constexpr int kPorts = 32, kSuspects = 16;
  const std::string name = "ibp200s0f0v1";
  host.add_device(name);
  ports.clear();
  for (int number = 1; number <= kPorts; ++number) {
    Port port = fake_port(Device::open(name), number);
    port.lid = 0xffff;
    port.subnet_prefix = 0xfe80000000000000;
    for (int row = 1; row < static_cast<int>(Port::kMostPartitions); ++row)
      port.partitions.push_back({row, static_cast<std::uint16_t>(0x9000 + row)});
    ports.push_back(port);
  }
  for (int number = kPorts; number > kPorts - kSuspects; --number)
    book->broke(request.from, {name + ":" + std::to_string(number), "fake0:1"}, BreakReason::no_answer);
  std::string choice;
  std::thread other([&] {
    choice = maker_messages->receive();
    maker_socket = {};
  });
  refusal_of_acceptor(kPatience_s);
  other.join();
  EXPECT_TRUE(choice.starts_with("0\n0\n0\n")) << choice;
  EXPECT_NE(choice.find(name + ":20\n"), std::string::npos) << "as many ports as there is room for";
  std::size_t suspects = 0;
  for (std::size_t at = 0; (at = choice.find("\nsuspect ", at)) != std::string::npos; ++at) ++suspects;
  EXPECT_EQ(suspects, static_cast<std::size_t>(kSuspects));
}

TEST_F(VerbsHandshake, a_path_without_a_route_is_remembered) {
  host.allow_routes(false);
  std::thread other([this] {
    maker_messages->receive();
    maker_messages->send("1 1 2 2 0 0 0 0");
  });
  refusal_of_acceptor(kPatience_s);
  other.join();
  EXPECT_NE(book->failures_text(request.from).find("cannot be connected"), std::string::npos);
}

}  // namespace
}  // namespace tenax::comm::verbs
