#include "io/checkpoint/rank_hosts.hpp"

#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::io {
namespace {

TEST(RankHosts, come_back_as_they_were_written) {
  const std::vector<std::string> hosts = {"alpha", "alpha", "beta", "alpha"};
  EXPECT_EQ(hosts_text(hosts), "alpha*2,beta*1,alpha*1");
  EXPECT_EQ(parse_hosts_text(hosts_text(hosts), 4), hosts);
  EXPECT_TRUE(parse_hosts_text("", 4).empty());
}

TEST(RankHosts, that_do_not_fit_are_refused) {
  for (const char* text : {"alpha", "alpha*3", "alpha*5", "*4", "alpha*2,beta*3", "alpha*-1,beta*5",
                           "alpha*0,beta*4", "alpha*99999999999", ",", "alpha*4,beta"})
    EXPECT_NE(error_of([&] { parse_hosts_text(text, 4); }).find("its attribute hosts = "), std::string::npos)
        << text;
}

TEST(RankPlaces, are_written_only_where_ranks_have_changed_places) {
  EXPECT_EQ(places_text({0, 1, 2}), "");
  EXPECT_EQ(places_text({2, 1, 0}), "2,1,0");
  EXPECT_EQ(parse_places_text("2,1,0", 3), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(parse_places_text("", 3), (std::vector<int>{0, 1, 2}));
}

TEST(RankPlaces, that_are_no_permutation_are_refused) {
  for (const char* text : {"0,1", "0,1,2,3", "0,1,1", "0,1,3", "a,1,2", "0 1 2"})
    EXPECT_NE(error_of([&] { parse_places_text(text, 3); }).find("its attribute rank_places = "),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace tenax::io
