#include "model/embedding.hpp"

#include <algorithm>

namespace tenax::model {

using kernels::Shape;
using kernels::Stream;
using kernels::Tensor;

void split_windows(std::span<const std::int32_t> windows, std::int64_t length, std::int32_t* inputs,
                   std::int32_t* targets) {
  const std::int64_t sequences = static_cast<std::int64_t>(windows.size()) / (length + 1);
  for (std::int64_t s = 0; s < sequences; ++s) {
    const auto first = windows.begin() + s * (length + 1);
    std::copy(first, first + length, inputs + s * length);
    std::copy(first + 1, first + 1 + length, targets + s * length);
  }
}

ParameterRow token_embedding_row(const GptConfig& config, const comm::Communicator& tensor_group,
                                 bool tied_copy) {
  const kernels::ShardLayout layout{.logical = Shape{config.vocab_size, config.hidden_size},
                                    .axis = 0,
                                    .parts = tensor_group.size(),
                                    .index = tensor_group.rank(),
                                    .sections = 1,
                                    .padded_extent = config.padded_vocab_size(tensor_group.size())};
  return {"wte.weight", layout, Initialisation::normal, tied_copy};
}

VocabularyParallelEmbedding::VocabularyParallelEmbedding(const GptConfig& config,
                                                         comm::Communicator& tensor_group,
                                                         kernels::Kernels& kernels, ParameterTable& table)
    : tensor_group_(tensor_group), kernels_(kernels) {
  wte_row_ = table.add(token_embedding_row(config, tensor_group, false));
  const kernels::ShardLayout positions{.logical = Shape{config.seq_length, config.hidden_size}};
  wpe_row_ = table.add({"wpe.weight", positions, Initialisation::normal, tensor_group.rank() != 0});
  vocab_begin_ = table.row(wte_row_).layout.local()[0] * tensor_group.rank();
}

void VocabularyParallelEmbedding::bind(const ParameterTable& table, const Tensor& weights,
                                       const Tensor& gradients) {
  wte_ = table.view(weights, wte_row_);
  wpe_ = table.view(weights, wpe_row_);
  if (!gradients) return;
  d_wte_ = table.view(gradients, wte_row_);
  d_wpe_ = table.view(gradients, wpe_row_);
}

void VocabularyParallelEmbedding::forward(Stream& stream, const Tensor& tokens, const Tensor& out,
                                          std::int64_t first_position) {
  // One rank of the group adds the positions; the others' contributions to a row are zero or its token's
  // vector.
  const std::int64_t h = wpe_.columns(), left = wpe_.shape[0] - first_position;
  const Tensor positions = tensor_group_.rank() == 0 ? wpe_.part(first_position * h, {left, h}) : Tensor{};
  kernels_.embedding_forward(stream, {tokens, wte_, positions, out, vocab_begin_});
  tensor_group_.all_reduce(stream, out, comm::ReduceOp::sum);
}

void VocabularyParallelEmbedding::backward_weight(Stream& stream, const Tensor& tokens, const Tensor& d_out,
                                                  bool accumulate_wte, bool accumulate_wpe) {
  if (!accumulate_wte) kernels_.zero(stream, d_wte_);
  if (!accumulate_wpe) kernels_.zero(stream, d_wpe_);
  kernels_.embedding_backward(stream, {tokens, d_out, d_wte_, d_wpe_, vocab_begin_});
}

}  // namespace tenax::model
