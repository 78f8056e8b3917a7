#include "comm/nccl/shared_gpu.hpp"

#include <gtest/gtest.h>

namespace tenax::comm {
namespace {

TEST(SharedGpu, ranks_with_a_gpu_each_may_use_nccl_also_where_bus_ids_repeat_on_other_hosts) {
  EXPECT_EQ(obstacle({{"a", "0000:3b:00.0"}}), "");
  EXPECT_EQ(obstacle({{"a", "0000:3b:00.0"}, {"a", "0000:5e:00.0"}, {"b", "0000:3b:00.0"}}), "");
}

TEST(SharedGpu, names_the_first_two_ranks_that_share_one) {
  EXPECT_EQ(obstacle({{"a", "0000:3b:00.0"}, {"b", "0000:3b:00.0"}, {"a", "0000:3b:00.0"}}),
            "rank 0 and rank 2 share the GPU 0000:3b:00.0 of a");
}

TEST(SharedGpu, one_rank_without_keeps_all_from_it) {
  EXPECT_EQ(obstacle({{"a", "0000:3b:00.0"}, {"b", "", "has no GPU"}}), "rank 1 (b) has no GPU");
}

TEST(SharedGpu, places_survive_their_text) {
  for (const GpuAddress& address :
       {GpuAddress{"node 7, rack 2", "0000:3b:00.0"}, GpuAddress{"a", "", "has no GPU"}}) {
    const GpuAddress back = gpu_address_of_text(to_text(address));
    EXPECT_EQ(back.host, address.host);
    EXPECT_EQ(back.bus_id, address.bus_id);
    EXPECT_EQ(back.lack, address.lack);
  }
}

}  // namespace
}  // namespace tenax::comm
