// cuDNN checks each operation as it is added and the graph as a whole, without a GPU. Whether it has an
// engine for it, a GPU is needed to say.
#include "kernels/cuda/cudnn_attention_graph.hpp"

#include <gtest/gtest.h>

#include "kernels/cuda/cudnn_attention_plans.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

const AttentionShape kShapes[] = {{32, 1024, 12, 64}, {2, 1000, 3, 128}, {1, 7, 1, 80}};

TEST(CudnnAttentionGraph, is_one_that_cudnn_understands) {
  for (const AttentionShape& shape : kShapes) {
    EXPECT_NO_THROW(CudnnForwardGraph(shape).graph.finish(nullptr));
    for (const QuerySums sums : {QuerySums::apart, QuerySums::from_scores})
      EXPECT_NO_THROW(CudnnBackwardGraph(shape, sums).graph.finish(nullptr));
  }
}

TEST(CudnnAttentionGraph, has_sums_of_the_gradient_of_q_where_they_are_apart) {
  EXPECT_FALSE(CudnnBackwardGraph(kShapes[0], QuerySums::from_scores).d_q_sums);
  EXPECT_TRUE(CudnnBackwardGraph(kShapes[0], QuerySums::apart).d_q_sums);
}

TEST(CudnnAttentionGraph, asks_for_no_more_scratch_memory_than_plans_count) {
  const CudaPresence presence = cuda_presence();
  if (presence.devices == 0) GTEST_SKIP() << presence.reason;
  const CudnnHandle handle;
  for (const AttentionShape& shape : kShapes)
    for (const bool deterministic : {true, false}) {
      const CudnnBackwardGraph backward(shape, deterministic ? QuerySums::from_scores : QuerySums::apart);
      const auto plans = CudnnPlan::find(handle.get(), backward.graph, deterministic, 1);
      ASSERT_FALSE(plans.empty());
      EXPECT_LE(static_cast<std::size_t>(plans.front().workspace_bytes()),
                cudnn_backward_bytes(shape, deterministic));
    }
}

TEST(CudnnGraph, refuses_a_product_of_tensors_that_do_not_fit) {
  CudnnGraph graph;
  const auto a = graph.tensor(CUDNN_DATA_BFLOAT16, CudnnLayout::packed(1, 1, 16, 8));
  const auto b = graph.tensor(CUDNN_DATA_BFLOAT16, CudnnLayout::packed(1, 1, 24, 16));
  const auto c = graph.tensor(CUDNN_DATA_BFLOAT16, CudnnLayout::packed(1, 1, 16, 16));
  EXPECT_THROW(
      {
        graph.matmul(a, b, c);
        graph.finish(nullptr);
      },
      Error);
}

}  // namespace
}  // namespace tenax::kernels::cuda
