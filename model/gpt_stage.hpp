// GptStage: the blocks of one pipeline stage on one rank, with the embedding on the first and the
// head on the last.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/embedding.hpp"
#include "model/language_head.hpp"
#include "model/pipeline_stage.hpp"
#include "model/transformer_block.hpp"

namespace tenax::model {

/// Bytes of device memory a stage takes besides parameters and optimizer.
struct StageMemory {
  std::size_t slot_bytes = 0;     ///< activations of one live microbatch
  std::size_t scratch_bytes = 0;  ///< once

  static StageMemory plan(const GptConfig& config, const StageSpan& span, int tensor_size,
                          MicrobatchShape shape);
};

class GptStage : public OffloadableStage {
 public:
  /// The device, stream and communicator must outlive the stage.
  GptStage(const GptConfig& config, const StageSpan& span, comm::Communicator& tensor_group,
           kernels::Device& device, kernels::Stream& stream);

  const ParameterTable& parameters() const { return table_; }
  ParameterTable& parameters() { return table_; }
  /// Flat buffers laid out as parameters() says; gradients may be absent (then only forward
  /// passes may run).
  void bind(const kernels::Tensor& weights, const kernels::Tensor& gradients);
  /// Memory for `slots` live microbatches of `shape` and for a batch of up to `microbatches`. What is
  /// there already and large enough stays.
  void allocate(MicrobatchShape shape, int slots, int microbatches);
  /// The next allocate() has the memory of `other`, a stage of the same device, to choose from. Only one
  /// of the two may have passes under way, or results that are still wanted.
  void share_memory(const GptStage& other);
  /// The same memory seen as microbatches of another shape, no larger than the allocated one.
  void set_shape(MicrobatchShape shape);

  /// The samples of the coming passes: windows of T + 1 tokens, [microbatches, sequences, T + 1].
  void set_batch(std::span<const std::int32_t> windows);
  /// Last stage, after the forward passes: the sum of each microbatch's losses over its tokens, in
  /// fp64. Waits for the stream.
  std::vector<double> microbatch_losses(kernels::Deadline deadline);
  /// The same where the device has them: [tokens of the batch], accumulation type.
  const kernels::Tensor& losses() const { return losses_; }

  kernels::Stream& stream() override { return stream_; }
  kernels::Tensor input(int slot) override;
  kernels::Tensor output(int slot) override;
  void forward(int slot, int microbatch, ForwardGradients gradients) override;
  void backward_input(int slot) override;
  void backward_weight(int slot, bool accumulate, const GradientsReady& ready) override;
  kernels::Tensor contents(int slot) override;
  void adopt(int index, int microbatch) override { slot(index).microbatch = microbatch; }
  /// Block by block. The only backward pass of a config that recomputes.
  void backward(int slot, bool accumulate, const GradientsReady& ready) override;

 private:
  using Memory = std::shared_ptr<kernels::Buffer>;
  struct Slot {
    Memory memory;
    std::vector<kernels::Tensor> boundary;  // [blocks + 1] of [rows, H]
    std::vector<BlockActivations> blocks;
    HeadActivations head;
    int microbatch = -1;
  };
  static Slot take_slot(Arena& arena, const GptConfig& config, const StageSpan& span, int tensor_size,
                        MicrobatchShape shape);
  struct Scratch {
    Memory memory;
    BlockScratch block;
    HeadScratch head;
  };
  static Scratch take_scratch(Arena& arena, const GptConfig& config, const StageSpan& span, int tensor_size,
                              MicrobatchShape shape);
  friend struct StageMemory;

  void provide(Memory& memory, std::size_t bytes, kernels::MemoryKind kind = kernels::MemoryKind::device);
  void head_input(Slot& slot);
  void head_weight(Slot& slot, bool accumulate, const GradientsReady& ready);
  void block_is_ready(std::size_t block, const GradientsReady& ready) const;
  void embedding_weight(Slot& slot, bool accumulate, const GradientsReady& ready);
  kernels::Tensor batch_part(const kernels::Tensor& batch, int microbatch) const;
  Slot& slot(int index) { return slots_[static_cast<std::size_t>(index)]; }

  GptConfig config_;
  StageSpan span_;
  comm::Communicator& tensor_group_;
  kernels::Device& device_;
  kernels::Stream& stream_;
  ParameterTable table_;
  std::optional<VocabularyParallelEmbedding> embedding_;
  std::vector<TransformerBlock> blocks_;
  std::optional<LanguageHead> head_;

  MicrobatchShape shape_;
  std::size_t slot_bytes_ = 0;  // of a slot's memory: those in use
  std::vector<Slot> slots_;
  Scratch scratch_;
  Memory batch_memory_, batch_staging_, loss_memory_, loss_staging_;
  std::unique_ptr<kernels::Event> batch_copied_;  // to the device
  kernels::Tensor inputs_, targets_;              // i32 [microbatches · rows] each
  kernels::Tensor losses_;                        // [microbatches · rows], accumulation type
  int microbatches_ = 0;                          // in the current batch
};

}  // namespace tenax::model
