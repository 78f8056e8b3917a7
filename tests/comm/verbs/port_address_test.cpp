// Ports as texts, and which of them two hosts connect.
#include "comm/verbs/port_address.hpp"

#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class PortAddresses : public VerbsTest {
 protected:
  PortAddress port(std::uint64_t subnet = 0, LinkLayer layer = LinkLayer::ethernet) {
    Port port = fake_port(device);
    port.subnet_prefix = subnet;
    port.link_layer = layer;
    port.lid = 77;
    return PortAddress(port);
  }
  PortAddress virtual_port() {
    PortAddress fast = port();
    fast.gbps = 400;
    fast.is_near = false;
    fast.needs_grh = true;
    fast.pkeys = {0x7fff, 0x8005};
    return fast;
  }
  std::vector<Port> ports_with_near(std::size_t count, std::size_t near) {
    std::vector<Port> ports(count, fake_port(device));
    for (std::size_t i = near; i < count; ++i) ports[i].is_near = false;
    return ports;
  }
  /// What a connection to the rank with this place on its node prefers, where both ends have such ports.
  static PortPair front(const std::vector<Port>& ports, std::size_t place, std::size_t number) {
    const std::vector<PortAddress> addresses(ports.begin(), ports.end());
    return port_pairs(addresses, addresses, turn_of(ports, place, number)).front();
  }
  std::shared_ptr<Device> device = Device::open("fake0");
};

TEST_F(PortAddresses, a_text_means_the_port_it_was_written_of) {
  for (const PortAddress& each :
       {port(), port(0xfe80000000000000), port(1, LinkLayer::infiniband), virtual_port()})
    EXPECT_EQ(PortAddress::parse(each.text()), each);
}

TEST_F(PortAddresses, no_other_text_is_a_port) {
  const std::string good = port().text();
  ASSERT_TRUE(PortAddress::parse(good));
  for (std::size_t cut = 0; cut + 7 < good.size(); ++cut)
    EXPECT_FALSE(PortAddress::parse(good.substr(0, cut)));
  EXPECT_FALSE(PortAddress::parse(good + " more"));
  EXPECT_FALSE(PortAddress::parse("tcp" + good));
  for (const auto& [word, other] : {std::pair("1024", "1023"),
                                    {"77", "65536"},
                                    {"77", "-1"},
                                    {"ffff", "ffgf"},
                                    {"1024 77 0", "1024 77 -1"}}) {
    std::string bad = good;
    bad.replace(bad.find(word), std::string(word).size(), other);
    EXPECT_FALSE(PortAddress::parse(bad)) << bad;
  }
}

TEST_F(PortAddresses, one_subnet_comes_before_a_router_and_another_layer_never) {
  const PortAddress near = port(1), far = port(2), other = port(1, LinkLayer::infiniband);
  EXPECT_EQ(port_pairs({near}, {far, near}, 0), (std::vector<PortPair>{{0, 1}, {0, 0}}));
  EXPECT_EQ(port_pairs({near}, {far, near}, 1), (std::vector<PortPair>{{0, 1}, {0, 0}}))
      << "the only good one";
  EXPECT_EQ(port_pairs({near}, {other, far}, 0), (std::vector<PortPair>{{0, 1}}));
  EXPECT_TRUE(port_pairs({near}, {other}, 0).empty());
  EXPECT_TRUE(port_pairs({}, {near}, 0).empty());
}

TEST_F(PortAddresses, turns_take_every_port_before_any_of_them_twice) {
  const std::vector<PortAddress> two(2, port()), three(3, port());
  for (const auto& [mine, theirs] : {std::pair(two, two), {two, three}, {three, two}, {three, three}}) {
    std::set<std::size_t> connecting, accepting;
    for (std::size_t turn = 0; turn < std::min(mine.size(), theirs.size()); ++turn) {
      const PortPair pair = port_pairs(mine, theirs, turn).front();
      EXPECT_TRUE(connecting.insert(pair.connecting).second);
      EXPECT_TRUE(accepting.insert(pair.accepting).second);
    }
    std::set<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t turn = 0; turn < mine.size() * theirs.size(); ++turn) {
      const std::vector<PortPair> pairs = port_pairs(mine, theirs, turn);
      EXPECT_EQ(pairs.size(), mine.size() * theirs.size()) << "each is a way";
      all.emplace(pairs.front().connecting, pairs.front().accepting);
    }
    EXPECT_EQ(all.size(), mine.size() * theirs.size());
  }
}

TEST_F(PortAddresses, no_turn_takes_a_port_that_is_much_slower_than_others) {
  PortAddress fast = port(1, LinkLayer::infiniband), slow = port(1);
  fast.gbps = 400;
  slow.gbps = 25;
  for (std::size_t turn = 0; turn < 8; ++turn) {
    const std::vector<PortPair> pairs = port_pairs({fast, slow}, {slow, fast}, turn);
    EXPECT_EQ(pairs, (std::vector<PortPair>{{0, 1}, {1, 0}})) << turn;
  }
  PortAddress half = fast;
  half.gbps = 200;
  EXPECT_EQ(port_pairs({fast, half}, {fast, half}, 1).front(), (PortPair{1, 1}));
}

TEST_F(PortAddresses, ranks_of_a_node_begin_with_its_ports_and_share_them_out) {
  const std::vector<Port> ports = ports_with_near(8, 4);
  for (std::size_t number = 0; number < 4; ++number) {
    std::set<std::size_t> connecting, accepting;
    for (std::size_t place = 0; place < 4; ++place) {
      const PortPair pair = front(ports, place, number);
      connecting.insert(pair.connecting);
      accepting.insert(pair.accepting);
      EXPECT_EQ(front(ports, place + 4, number), pair) << "more ranks than ports";
    }
    EXPECT_EQ(connecting, (std::set<std::size_t>{0, 1, 2, 3})) << number;
    EXPECT_EQ(accepting, connecting) << number;
  }
}

TEST_F(PortAddresses, ranks_of_a_node_share_out_far_ports_too) {
  const std::vector<Port> ports = ports_with_near(8, 2);
  for (std::size_t number = 2; number < 8; ++number) {
    std::set<std::size_t> accepting;
    for (std::size_t place = 0; place < 6; ++place) accepting.insert(front(ports, place, number).accepting);
    EXPECT_EQ(accepting, (std::set<std::size_t>{2, 3, 4, 5, 6, 7})) << number;
  }
}

TEST_F(PortAddresses, connections_of_a_rank_take_far_ports_after_its_near_ones) {
  for (const std::size_t count : {2, 8})
    for (std::size_t place = 0; place < 4; ++place) {
      const std::vector<Port> ports = ports_with_near(count, count / 2);
      std::set<std::size_t> connecting, accepting;
      for (std::size_t number = 0; number < count; ++number) {
        const PortPair pair = front(ports, place, number);
        EXPECT_EQ(pair.accepting < count / 2, number < count / 2);
        connecting.insert(pair.connecting);
        accepting.insert(pair.accepting);
      }
      EXPECT_EQ(connecting.size(), count) << place;
      EXPECT_EQ(accepting.size(), count) << place;
    }
}

TEST_F(PortAddresses, a_near_port_comes_first_though_it_was_told_of_last) {
  std::vector<PortAddress> ports(2, port());
  ports[0].is_near = false;
  EXPECT_EQ(port_pairs(ports, ports, 0).front(), (PortPair{1, 1}));
  EXPECT_EQ(port_pairs(ports, ports, 1).front(), (PortPair{0, 0}));
}

TEST_F(PortAddresses, a_slow_port_takes_no_turn_of_near_ones) {
  std::vector<Port> ports = ports_with_near(3, 2);
  ports[0].gbps = ports[2].gbps = 400;
  ports[1].gbps = 25;
  for (std::size_t place = 0; place < 3; ++place) {
    EXPECT_EQ(front(ports, place, 0), (PortPair{0, 0})) << place;
    EXPECT_EQ(front(ports, place, 1), (PortPair{2, 2})) << place;
  }
}

TEST_F(PortAddresses, turns_are_counted_on_where_no_port_is_nearer) {
  EXPECT_EQ(turn_of(ports_with_near(3, 3), 2, 5), 7U);
  EXPECT_EQ(turn_of({}, 2, 5), 7U);
}

TEST_F(PortAddresses, a_router_between_subnets_of_infiniband_comes_last) {
  PortAddress fast = port(1, LinkLayer::infiniband), other = port(2, LinkLayer::infiniband), slow = port(1);
  fast.gbps = other.gbps = 400;
  slow.gbps = 25;
  EXPECT_EQ(port_pairs({fast, slow}, {other, slow}, 0), (std::vector<PortPair>{{1, 1}, {0, 0}}));
}

}  // namespace
}  // namespace tenax::comm::verbs
