// Delegated links over RDMA lose, double and reorder nothing when connections break.
#include "tests/comm/delegates/delegated_link_fixture.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm {
namespace {

class VerbsDelegates : public DelegatedLinkTest {
 protected:
  VerbsDelegates() {
    for (const char* name : kDevices) host.add_device(name);
  }
  ~VerbsDelegates() override { ends.clear(); }  // before the host
  std::unique_ptr<Transport> network_of(std::size_t rank, TransportKind) override {
    return verbs::verbs_transport(verbs::options_of(kDevices[rank], 0.3));
  }
  static constexpr const char* kDevices[] = {"fake0", "fake1"};

  fake_verbs::Host host;
};

TEST_F(VerbsDelegates, carry_random_messages_of_many_tags_both_ways_at_once) {
  make_links();
  exchange_both_ways(3000);
}

/// Each break waits for another connection in place of the last one: where a handshake takes longer than connections would
/// live, there would never be enough of them.
TEST_F(VerbsDelegates, lose_double_and_reorder_nothing_when_connections_break) {
  make_links();
  std::mt19937 random(3);
  int broken = 0;
  exchange_both_ways(3000, [&] {
    MeddlingTransport& network = ends[random() % 2]->network;
    const int made = network.connections();
    broken += network.break_one(random) ? 1 : 0;
    const auto soon = Deadline::after_s(2);
    do std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    while (network.connections() == made && !soon.expired());
  });
  EXPECT_GT(broken, 3);
}

}  // namespace
}  // namespace tenax::comm
