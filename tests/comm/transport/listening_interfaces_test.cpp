// Where ranks listen by default.
#include "comm/transport/listening_interfaces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

using Names = std::vector<std::string>;

std::vector<Names> choices_of(const std::vector<HostNetwork>& networks) {
  std::vector<Names> choices(networks.size());
  run_ranks(static_cast<int>(networks.size()), 20, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    choices[rank] = interfaces_of_job(*world.control_group(), networks[rank]);
  });
  return choices;
}

TEST(ListeningInterfaces, are_loopback_where_all_ranks_share_one) {
  const HostNetwork here = host_network("whatever its name");
  for (const Names& choice : choices_of({here, here, here})) {
    ASSERT_FALSE(choice.empty());
    for (const NetworkAddress& address : network_addresses(choice))
      EXPECT_TRUE(address.is_loopback) << address.text;
  }
}

TEST(ListeningInterfaces, are_those_that_another_host_finds_for_this_ones_name) {
  const std::vector<NetworkAddress> all = network_addresses({});
  const auto outward = std::find_if(all.begin(), all.end(), [](const auto& own) { return !own.is_loopback; });
  if (outward == all.end()) GTEST_SKIP() << "this machine has loopback alone";
  const auto look_up = [&](const std::string& me) {
    return [me, address = outward->text](const Names& hosts) {
      Names found;
      for (const std::string& host : hosts)
        found.push_back(host + " " + (host == me ? "127.0.1.1" : address));
      return found;
    };
  };
  const auto choices = choices_of({{"a", "stack of a", look_up("a")},
                                   {"a", "stack of a", look_up("a")},
                                   {"b", "stack of b", look_up("b")}});
  for (const Names& choice : choices) EXPECT_EQ(choice, Names{outward->interface});
}

TEST(ListeningInterfaces, are_all_where_no_name_leads_anywhere) {
  const auto look_up = [](const Names&) { return Names{}; };
  for (const Names& choice : choices_of({{"a", "1", look_up}, {"b", "2", look_up}}))
    EXPECT_TRUE(choice.empty());
}

TEST(ListeningInterfaces, of_hosts_with_one_name_are_not_loopback) {
  const auto look_up = [](const Names&) { return Names{}; };
  for (const Names& choice : choices_of({{"localhost", "1", look_up}, {"localhost", "2", look_up}}))
    EXPECT_TRUE(choice.empty());
}

TEST(ListeningInterfaces, come_from_names_as_the_system_resolves_them) {
  const Names found = host_network("localhost").look_up({"localhost", "no.such.host.invalid"});
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string& line) {
    return line == "localhost 127.0.0.1" || line == "localhost ::1";
  }));
}

}  // namespace
}  // namespace tenax::comm
