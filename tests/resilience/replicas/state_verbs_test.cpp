// State that a replica fetches over RDMA, on fake devices.
#include "tests/comm/verbs/verbs_pair.hpp"
#include "tests/resilience/replicas/state_source.hpp"

namespace tenax::resilience {
namespace {

class StateOverVerbs : public ::testing::Test {
 protected:
  static std::string device_of(int rank) { return "fake" + std::to_string(rank); }
  static std::unique_ptr<comm::Transport> transport_of(int rank) {
    return comm::verbs::verbs_transport(comm::verbs::options_of(device_of(rank), 0.3));
  }
  StateOverVerbs() {
    for (int rank = 0; rank < 3; ++rank) host.add_device(device_of(rank));
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(std::make_unique<Source>(rank, transport_of(rank)));
    for (int rank = 0; rank < 2; ++rank) {
      ranks[static_cast<std::size_t>(rank)]->server.open(kDone);
      ranks[static_cast<std::size_t>(rank)]->server.serve(joiner().peer, kPurpose);
    }
    clear(joiner().state);
  }
  Source& joiner() { return *ranks[2]; }
  std::unique_ptr<StateFetch> fetch() {
    return std::make_unique<StateFetch>(joiner().slices, *joiner().transport,
                                        std::vector{ranks[0]->peer, ranks[1]->peer}, joiner().nobody,
                                        StateFetch::Options{kDone, kPurpose, 20});
  }

  comm::fake_verbs::Host host;
  std::vector<std::unique_ptr<Source>> ranks;
};

TEST_F(StateOverVerbs, comes_from_several_sources) {
  const auto fetch = this->fetch();
  wait_for(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner().state.memory, ranks[0]->state.memory);
}

TEST_F(StateOverVerbs, comes_from_another_source_when_the_path_to_one_fails) {
  host.set_path(device_of(0), device_of(2), {.delay_s = 0.005});
  const auto fetch = this->fetch();
  while (fetch->bytes() == 0 && !fetch->has_failed()) std::this_thread::yield();
  host.set_path(device_of(0), device_of(2), {.is_lossy = true});
  wait_for(*fetch);
  ASSERT_TRUE(fetch->is_complete());
  EXPECT_EQ(joiner().state.memory, ranks[1]->state.memory);
}

}  // namespace
}  // namespace tenax::resilience
