// Messages that leave from the memory of a device, where the host finds nothing.
#include "comm/verbs.hpp"
#include "tests/comm/asynchronous_ends.hpp"
#include "tests/comm/verbs/fake_verbs.hpp"

namespace tenax::comm {
namespace {

/// Keeps in mind how much host memory was registered.
class HostMemoryCounter final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    registered_ += memory.size();
    return inner().register_memory(memory);
  }
  std::size_t registered() const { return registered_; }

 private:
  std::atomic<std::size_t> registered_{0};
};

/// Two ranks with an RDMA device and a GPU each, and TCP.
class VerbsDeviceMemory : public ::testing::Test {
 protected:
  static constexpr std::size_t kFloats = 250000;
  static constexpr const char* kDevices[] = {"fake0", "fake1"};

  VerbsDeviceMemory() {
    for (const char* name : kDevices) host.add_device(name);
  }
  ~VerbsDeviceMemory() override {
    for (auto& link : links) link.reset();
  }

  void make_links(bool exports = true, bool gpu_direct = true) {
    Peer peers[2];
    for (const std::size_t rank : {0U, 1U}) {
      gpus[rank] = kernels::test::create_stand_in({.jitter_us = 100, .seed = rank, .exports = exports});
      streams[rank] = gpus[rank]->create_stream();
      verbs[rank] = create_verbs_rank({.ports = {.patterns = {{kDevices[rank]}}, .interfaces = {}},
                                       .silence_s = 0.3,
                                       .gpu_direct = gpu_direct});
      networks[rank] = std::make_unique<HostMemoryCounter>(
          create_transport({.interfaces = {"127.0.0.1"},
                            .secret = one_job(),
                            .create_verbs_listener = verbs[rank]->listener()}));
      peers[rank] = {static_cast<int>(rank), "rank " + std::to_string(rank), networks[rank]->addresses()};
      std::erase_if(peers[rank].addresses,
                    [](const std::string& address) { return address.starts_with("shm:"); });
    }
    for (const std::size_t rank : {0U, 1U})
      links[rank] = create_delegated_link("p", peers[rank], peers[1 - rank], *networks[rank], *gpus[rank],
                                          {.delegates = 2});
  }
  /// Messages from rank 0 to rank 1, all under way at a time.
  void pass(int count) {
    std::vector<DeviceFloats> from, to;
    std::vector<TransferPtr> transfers;
    for (int i = 0; i < count; ++i) {
      from.emplace_back(*gpus[0], kFloats).write(*streams[0], std::vector<float>(kFloats, ++value_));
      to.emplace_back(*gpus[1], kFloats);
    }
    for (int i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      transfers.push_back(links[1]->receive(*streams[1], to[place].tensor(), 0));
      transfers.push_back(links[0]->send(*streams[0], from[place].tensor(), 0));
    }
    for (const TransferPtr& transfer : transfers) transfer->wait(patience());
    for (DeviceFloats& message : to) message.fetch(*streams[1]);
    streams[1]->synchronize(patience());
    float expected = value_ - static_cast<float>(count);
    for (const DeviceFloats& message : to)
      ASSERT_EQ(message.values(), std::vector<float>(kFloats, ++expected));
  }
  /// Until both connections are there, and a message takes no memory of the sender's host any more.
  void pass_until_direct() {
    for (const kernels::Deadline deadline = patience();;) {
      const std::uint64_t before = networks[0]->registered() + links[0]->copied_bytes();
      pass(8);
      if (networks[0]->registered() + links[0]->copied_bytes() == before && is_direct()) return;
      ASSERT_FALSE(deadline.expired()) << "messages still pass through the host";
    }
  }
  bool is_direct() { return host.read_by_descriptor() > 0; }
  void set_port(ibv_port_state state) {
    fake_verbs::FakePort port;
    port.state = state;
    host.set_port(kDevices[0], 1, port);
    host.raise(kDevices[0], state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }

  fake_verbs::Host host;
  std::unique_ptr<kernels::Device> gpus[2];
  std::unique_ptr<kernels::Stream> streams[2];
  std::unique_ptr<VerbsRank> verbs[2];
  std::unique_ptr<HostMemoryCounter> networks[2];
  std::unique_ptr<DelegatedLink> links[2];

 private:
  float value_ = 0;
};

TEST_F(VerbsDeviceMemory, leaves_without_passing_through_its_host) {
  make_links();
  pass_until_direct();
  const std::size_t before = host.read_by_descriptor();
  pass(8);
  EXPECT_EQ(host.read_by_descriptor() - before, 8 * kFloats * sizeof(float));
}

TEST_F(VerbsDeviceMemory, goes_through_the_host_where_it_is_not_exported_or_not_taken_or_not_wanted) {
  for (const int obstacle : {0, 1, 2}) {
    host.allow_dma_bufs(obstacle != 1);
    make_links(obstacle != 0, obstacle != 2);
    for (int i = 0; i < 5; ++i) pass(8);
    EXPECT_FALSE(is_direct()) << obstacle;
    for (auto& link : links) link.reset();
  }
}

/// What had been copied to send it so is brought to the host.
TEST_F(VerbsDeviceMemory, goes_over_tcp_while_the_port_is_down_and_directly_again) {
  make_links();
  for (int i = 0; i < 3; ++i) {
    pass_until_direct();
    std::thread failing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
      set_port(IBV_PORT_DOWN);
    });
    pass(20);
    failing.join();
    pass(20);
    const std::size_t before = host.read_by_descriptor();
    pass(8);
    EXPECT_EQ(host.read_by_descriptor(), before) << "the port is down";
    set_port(IBV_PORT_ACTIVE);
  }
}

/// There are so many bytes of it; other messages pass through the host.
TEST_F(VerbsDeviceMemory, is_not_taken_without_end) {
  make_links();
  pass_until_direct();
  const std::size_t before = host.read_by_descriptor();
  host.set_path(kDevices[0], kDevices[1], {.delay_s = 0.05});
  pass(80);
  const std::size_t directly = host.read_by_descriptor() - before;
  EXPECT_GE(directly, 30 * kFloats * sizeof(float));
  EXPECT_LT(directly, 80 * kFloats * sizeof(float));
}

}  // namespace
}  // namespace tenax::comm
