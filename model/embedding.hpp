// VocabularyParallelEmbedding: token and position embedding; each rank of the tensor group holds a
// shard of the rows.
#pragma once

#include <cstdint>
#include <span>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/gpt_config.hpp"
#include "model/parameter_table.hpp"

namespace tenax::model {

/// For tokens to get to the device or back, behind whatever it has to do before.
inline constexpr double kTokenCopyDeadline_s = 600;

/// `windows` [sequences, length + 1] → inputs and targets [sequences, length]: of each window of tokens the first `length`
/// are inputs, the last `length` their targets.
void split_windows(std::span<const std::int32_t> windows, std::int64_t length, std::int32_t* inputs,
                   std::int32_t* targets);

/// The row of the tied token embedding, wte.weight [V, H], cut along the padded vocabulary.
ParameterRow token_embedding_row(const GptConfig& config, const comm::Communicator& tensor_group,
                                 bool tied_copy);

class VocabularyParallelEmbedding {
 public:
  /// Adds wte.weight and wpe.weight to `table`.
  VocabularyParallelEmbedding(const GptConfig& config, comm::Communicator& tensor_group,
                              kernels::Kernels& kernels, ParameterTable& table);
  void bind(const ParameterTable& table, const kernels::Tensor& weights, const kernels::Tensor& gradients);

  /// tokens i32 [sequences, length] -> out [rows, H], the same on every rank of the tensor group.
  /// The first token of a sequence stands at `first_position`.
  void forward(kernels::Stream& stream, const kernels::Tensor& tokens, const kernels::Tensor& out,
               std::int64_t first_position = 0);
  /// Adds to the gradients of wte and wpe. `accumulate_wte`, `accumulate_wpe` false: they are
  /// zeroed first.
  void backward_weight(kernels::Stream& stream, const kernels::Tensor& tokens, const kernels::Tensor& d_out,
                       bool accumulate_wte, bool accumulate_wpe);

  int wte_row() const { return wte_row_; }
  int end_row() const { return wpe_row_ + 1; }

 private:
  comm::Communicator& tensor_group_;
  kernels::Kernels& kernels_;
  int wte_row_ = 0, wpe_row_ = 0;
  std::int64_t vocab_begin_ = 0;
  kernels::Tensor wte_, wpe_, d_wte_, d_wpe_;
};

}  // namespace tenax::model
