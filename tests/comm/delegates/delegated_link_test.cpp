// Delegated links lose, double and reorder nothing, whatever the transport and whatever breaks.
#include "tests/comm/delegates/delegated_link_fixture.hpp"

namespace tenax::comm {
namespace {

TEST_F(DelegatedLinkTest, carries_random_messages_of_many_tags_both_ways_at_once_in_shared_memory) {
  make_links(TransportKind::shared_memory);
  exchange_both_ways(10000);
}
TEST_F(DelegatedLinkTest, carries_random_messages_of_many_tags_both_ways_at_once_over_tcp) {
  make_links(TransportKind::tcp);
  exchange_both_ways(10000);
}

class BrokenConnections : public DelegatedLinkTest {
 protected:
  void check(TransportKind transport) {
    make_links(transport);
    std::mt19937 random(3);
    int broken = 0;
    exchange_both_ways(10000, [&] {
      broken += ends[random() % 2]->network.break_one(random) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    });
    EXPECT_GT(broken, 3);
    EXPECT_GT(ends[0]->network.connections(), 2 * options.delegates + 3);
    EXPECT_EQ(ends[0]->network.addresses_used().size(), peers[1].addresses.size()) << "each was tried";
  }
};

TEST_F(BrokenConnections, lose_double_and_reorder_nothing) { check(TransportKind::automatic); }
TEST_F(BrokenConnections, lose_double_and_reorder_nothing_over_tcp) { check(TransportKind::tcp); }

TEST_F(DelegatedLinkTest, goes_on_over_the_next_address_when_one_is_dead) {
  make_ends(TransportKind::tcp);
  std::string& first = peers[1].addresses.front();
  const std::size_t port = first.find(':', 4) + 1;
  first.replace(port, first.find('#') - port, "1");
  make_link(0);
  make_link(1);
  exchange_both_ways(50);
}

}  // namespace
}  // namespace tenax::comm
