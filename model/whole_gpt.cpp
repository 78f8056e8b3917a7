#include "model/whole_gpt.hpp"

namespace tenax::model {

namespace {

std::vector<TransformerBlock> make_blocks(const GptConfig& config, comm::Communicator& alone,
                                          kernels::Kernels& kernels, ParameterTable& table) {
  std::vector<TransformerBlock> blocks;
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
    blocks.emplace_back(config, layer, alone, kernels, table);
  return blocks;
}

}  // namespace

WholeGpt::WholeGpt(const GptConfig& sizes, comm::Communicator& alone, kernels::Kernels& kernels)
    : config(sizes),
      embedding(config, alone, kernels, parameters),
      blocks(make_blocks(config, alone, kernels, parameters)),
      head(config, embedding.wte_row(), alone, kernels, parameters) {
  assert(alone.size() == 1 && !config.recomputes);
}

void WholeGpt::bind(const kernels::Tensor& weights) {
  embedding.bind(parameters, weights, {});
  for (TransformerBlock& block : blocks) block.bind(parameters, weights, {});
  head.bind(parameters, weights, {});
}

ForwardPass ForwardPass::take(Arena& arena, const GptConfig& config, MicrobatchShape shape,
                              std::int64_t head_rows) {
  ForwardPass pass;
  pass.x = arena.take(config.compute_dtype, {shape.rows(), config.hidden_size});
  pass.block = BlockActivations::take(arena, config, 1, shape);
  pass.block.x_in = pass.block.x_out = pass.x;
  pass.scratch = BlockScratch::take(arena, config, 1, shape);
  pass.head = HeadActivations::take(arena, config, {1, head_rows});
  pass.head_scratch = HeadScratch::take(arena, config, 1, {1, head_rows});
  return pass;
}

}  // namespace tenax::model
