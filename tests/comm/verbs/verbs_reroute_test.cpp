// Where the messages of a delegated link go when RDMA ports and paths fail and come back.
#include <algorithm>
#include <map>

#include "comm/delegates/watched_transport.hpp"
#include "comm/verbs.hpp"
#include "tests/comm/delegates/delegated_link_fixture.hpp"
#include "tests/comm/verbs/fake_verbs.hpp"

namespace tenax::comm {
namespace {

/// Two ranks with a device of two ports each, and TCP; not shared memory, which they would prefer.
class VerbsReroutes : public DelegatedLinkTest {
 protected:
  VerbsReroutes() {
    for (const char* name : kDevices) host.add_device(name, {fake_verbs::FakePort{}, fake_verbs::FakePort{}});
    options.delegates = 2;
  }
  ~VerbsReroutes() override { ends.clear(); }  // before the host
  std::unique_ptr<Transport> network_of(std::size_t rank, TransportKind kind) override {
    VerbsSettings settings;
    settings.ports.patterns = {{kDevices[rank]}};
    settings.has_other_ways = kind == TransportKind::automatic;
    settings.silence_s = 0.3;
    verbs[rank] = create_verbs_rank(settings);
    auto transport = create_transport({.kind = kind,
                                       .interfaces = {"127.0.0.1"},
                                       .secret = one_job(),
                                       .create_verbs_listener = verbs[rank]->listener()});
    return std::make_unique<WatchedTransport>(std::move(transport), [this](const Reroute& reroute) {
      const std::lock_guard lock(mutex_);
      told_.push_back(reroute);
    });
  }
  void make_links_over(TransportKind kind) {
    make_ends(kind);
    for (Peer& peer : peers)
      std::erase_if(peer.addresses, [](const std::string& address) { return address.starts_with("shm:"); });
    make_link(0);
    make_link(1);
    exchange_both_ways(200);
  }
  void set_port(int number, ibv_port_state state) {
    fake_verbs::FakePort port;
    port.state = state;
    host.set_port(kDevices[0], number, port);
    host.raise(kDevices[0], state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, number);
  }
  std::vector<Reroute> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  std::string told_in_words() {
    std::string words;
    for (const Reroute& reroute : told())
      words += "\n  " + reroute.from + " -> " + reroute.to + ": " + reroute.reason;
    return words;
  }
  /// That have been told of, at both ends.
  std::ptrdiff_t connections_over_tcp() {
    const std::vector<Reroute> reroutes = told();
    return std::count_if(reroutes.begin(), reroutes.end(),
                         [](const Reroute& each) { return each.to == "tcp"; }) -
           std::count_if(reroutes.begin(), reroutes.end(),
                         [](const Reroute& each) { return each.from == "tcp"; });
  }
  /// Goes on with messages until so many connections go a way that begins so.
  void exchange_until_to(const std::string& way, const std::string& reason, int connections = 1) {
    const auto deadline = kernels::Deadline::after_s(30);
    for (;;) {
      exchange_both_ways(100);
      const std::vector<Reroute> reroutes = told();
      if (std::count_if(reroutes.begin(), reroutes.end(), [&](const Reroute& reroute) {
            return reroute.to.starts_with(way) && (reason.empty() || reroute.reason == reason);
          }) >= connections)
        return;
      ASSERT_FALSE(deadline.expired()) << "nothing went on over " << way << "; told:" << told_in_words();
    }
  }

  static constexpr const char* kDevices[] = {"fake0", "fake1"};
  fake_verbs::Host host;
  std::unique_ptr<VerbsRank> verbs[2];

 private:
  std::mutex mutex_;
  std::vector<Reroute> told_;
};

// The first connections each way have the first ports, the second ones the second.
TEST_F(VerbsReroutes, leave_a_port_that_goes_down_for_the_other_and_return) {
  constexpr int kBothWays = 2;
  make_links_over(TransportKind::verbs);
  EXPECT_TRUE(told().empty());
  for (const int port : {1, 2}) {
    const std::string own = std::to_string(port), other = std::to_string(3 - port);
    set_port(port, IBV_PORT_DOWN);
    exchange_until_to("verbs fake0:" + other + " - fake1:", "port_down", kBothWays);
    set_port(port, IBV_PORT_ACTIVE);
    exchange_until_to("verbs fake0:" + own + " - fake1:" + own, "healed", kBothWays);
  }
}

TEST_F(VerbsReroutes, go_over_tcp_while_no_port_is_left_and_return) {
  make_links_over(TransportKind::automatic);
  set_port(1, IBV_PORT_DOWN);
  set_port(2, IBV_PORT_DOWN);
  exchange_until_to("tcp", "");
  set_port(1, IBV_PORT_ACTIVE);
  exchange_until_to("verbs fake0:1 - fake1:", "healed");
}

/// Every status at either end, losses of messages and of acknowledgements alone, and late writes.
TEST_F(VerbsReroutes, lose_double_and_reorder_nothing_when_paths_fail) {
  make_links_over(TransportKind::automatic);
  std::mt19937 random(4);
  int faults = 0;
  const auto fail_a_path = [&] {
    const std::size_t from = random() % 2;
    const auto fault = static_cast<int>(random() % 4);
    if (fault == 0) host.set_path(kDevices[from], kDevices[1 - from], {.is_lossy = true});
    if (fault == 1) host.set_path(kDevices[from], kDevices[1 - from], {.delay_s = 0.02});
    if (fault > 1)
      host.fail_next(kDevices[from], static_cast<ibv_wc_status>(1 + random() % IBV_WC_GENERAL_ERR));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    host.set_path(kDevices[from], kDevices[1 - from], {});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ++faults;
  };
  while (faults < 6) exchange_both_ways(2000, fail_a_path);
}

/// Nothing tells of it but the silence; the other pair goes on.
TEST_F(VerbsReroutes, leave_a_path_that_is_silent) {
  make_links_over(TransportKind::verbs);
  host.set_path(kDevices[0], kDevices[1], {.is_lossy = true});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  host.set_path(kDevices[0], kDevices[1], {});
  exchange_both_ways(500);
}

/// Every message here would be lost on it, and be late again with each return.
TEST_F(VerbsReroutes, do_not_return_to_paths_that_carry_small_packets_only) {
  for (std::size_t rank : {0, 1}) host.set_path(kDevices[rank], kDevices[1 - rank], {.longest = 1500});
  make_links_over(TransportKind::automatic);
  const auto until = kernels::Deadline::after_s(3);  // suspects are tested after 1 and 2 s
  while (!until.expired()) exchange_both_ways(100);
  for (const Reroute& reroute : told()) EXPECT_FALSE(reroute.to.starts_with("verbs")) << told_in_words();
}

/// One trouble of the responder's, say, which all connections meet at once.
TEST_F(VerbsReroutes, return_after_faults_that_hardware_blames_on_us) {
  make_links_over(TransportKind::automatic);
  for (int i = 0; i < 2; ++i) host.fail_next(kDevices[0], IBV_WC_REM_OP_ERR);
  const auto deadline = kernels::Deadline::after_s(30);
  do {
    exchange_both_ways(100);
    ASSERT_FALSE(deadline.expired()) << "told:" << told_in_words();
  } while (connections_over_tcp() > 0);
}

TEST_F(VerbsReroutes, survive_a_device_that_is_removed_and_comes_back) {
  make_links_over(TransportKind::automatic);
  host.remove_device(kDevices[0]);
  exchange_until_to("tcp", "device_lost");
  host.add_device(kDevices[0], {fake_verbs::FakePort{}, fake_verbs::FakePort{}});
  exchange_until_to("verbs fake0:", "healed");
}

}  // namespace
}  // namespace tenax::comm
