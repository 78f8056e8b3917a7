#include "model/gpt_stage.hpp"

#include "model/embedding.hpp"

namespace tenax::model {

using kernels::DType;
using kernels::MemoryKind;
using kernels::Shape;
using kernels::Tensor;

GptStage::GptStage(const GptConfig& config, const StageSpan& span, comm::Communicator& tensor_group,
                   kernels::Device& device, kernels::Stream& stream)
    : config_(config),
      span_(span),
      tensor_group_(tensor_group),
      device_(device),
      stream_(stream),
      batch_copied_(device.create_event()) {
  kernels::Kernels& kernels = device.kernels();
  if (span.has_embedding) embedding_.emplace(config, tensor_group, kernels, table_);
  for (std::int64_t layer = span.first_layer; layer < span.end_layer; ++layer)
    blocks_.emplace_back(config, layer, tensor_group, kernels, table_);
  if (span.has_head)
    head_.emplace(config, embedding_ ? embedding_->wte_row() : -1, tensor_group, kernels, table_);
}

void GptStage::bind(const Tensor& weights, const Tensor& gradients) {
  if (embedding_) embedding_->bind(table_, weights, gradients);
  for (TransformerBlock& block : blocks_) block.bind(table_, weights, gradients);
  if (head_) head_->bind(table_, weights, gradients);
}

GptStage::Slot GptStage::take_slot(Arena& arena, const GptConfig& config, const StageSpan& span,
                                   int tensor_size, MicrobatchShape shape) {
  Slot slot;
  const auto blocks = static_cast<std::size_t>(span.end_layer - span.first_layer);
  for (std::size_t i = 0; i <= blocks; ++i)
    slot.boundary.push_back(arena.take(config.compute_dtype, {shape.rows(), config.hidden_size}));
  for (std::size_t i = 0; i < blocks; ++i) {
    slot.blocks.push_back(BlockActivations::take(arena, config, tensor_size, shape));
    slot.blocks.back().x_in = slot.boundary[i];
    slot.blocks.back().x_out = slot.boundary[i + 1];
  }
  if (span.has_head) slot.head = HeadActivations::take(arena, config, shape);
  return slot;
}

GptStage::Scratch GptStage::take_scratch(Arena& arena, const GptConfig& config, const StageSpan& span,
                                         int tensor_size, MicrobatchShape shape) {
  Scratch scratch;
  scratch.block = BlockScratch::take(arena, config, tensor_size, shape);
  if (span.has_head) scratch.head = HeadScratch::take(arena, config, tensor_size, shape);
  return scratch;
}

StageMemory StageMemory::plan(const GptConfig& config, const StageSpan& span, int tensor_size,
                              MicrobatchShape shape) {
  Arena slot, scratch;
  GptStage::take_slot(slot, config, span, tensor_size, shape);
  GptStage::take_scratch(scratch, config, span, tensor_size, shape);
  return {slot.used(), scratch.used()};
}

// What is too small goes before its successor comes.
void GptStage::provide(Memory& memory, std::size_t bytes, MemoryKind kind) {
  if (memory && memory->bytes() >= bytes) return;
  memory.reset();
  memory = device_.allocate(bytes, kind);
}

void GptStage::allocate(MicrobatchShape shape, int slots, int microbatches) {
  const StageMemory plan = StageMemory::plan(config_, span_, tensor_group_.size(), shape);
  provide(scratch_.memory, plan.scratch_bytes);
  slot_bytes_ = plan.slot_bytes;
  slots_.resize(static_cast<std::size_t>(slots));
  for (Slot& entry : slots_) provide(entry.memory, slot_bytes_);

  const std::int64_t rows = shape.rows() * microbatches;
  const DType sums = kernels::accumulation_of(config_.compute_dtype);
  const std::size_t token_bytes = 2 * static_cast<std::size_t>(rows) * kernels::bytes_of(DType::i32);
  provide(batch_memory_, token_bytes);
  provide(batch_staging_, token_bytes, MemoryKind::pinned_host);
  const std::size_t loss_bytes = static_cast<std::size_t>(rows) * kernels::bytes_of(sums);
  provide(loss_memory_, loss_bytes);
  provide(loss_staging_, loss_bytes, MemoryKind::pinned_host);
  set_shape(shape);
}

void GptStage::share_memory(const GptStage& other) {
  scratch_.memory = other.scratch_.memory;
  slots_.clear();
  for (const Slot& entry : other.slots_) slots_.emplace_back().memory = entry.memory;
  batch_memory_ = other.batch_memory_;
  batch_staging_ = other.batch_staging_;
  loss_memory_ = other.loss_memory_;
  loss_staging_ = other.loss_staging_;
}

void GptStage::set_shape(MicrobatchShape shape) {
  shape_ = shape;
  Arena scratch_arena(*scratch_.memory);
  auto scratch_memory = std::move(scratch_.memory);
  scratch_ = take_scratch(scratch_arena, config_, span_, tensor_group_.size(), shape);
  scratch_.memory = std::move(scratch_memory);
  for (Slot& entry : slots_) {
    Arena arena(*entry.memory);
    auto memory = std::move(entry.memory);
    entry = take_slot(arena, config_, span_, tensor_group_.size(), shape);
    entry.memory = std::move(memory);
    if (!config_.recomputes) continue;
    for (BlockActivations& act : entry.blocks) {
      act.ln_1 = scratch_.block.ln_1;
      act.ln_2 = scratch_.block.ln_2;
      act.gelu = scratch_.block.gelu;
    }
  }
}

void GptStage::set_batch(std::span<const std::int32_t> windows) {
  const std::int64_t length = shape_.length;
  const std::int64_t sequences = static_cast<std::int64_t>(windows.size()) / (length + 1);
  assert(sequences % shape_.sequences == 0);
  microbatches_ = static_cast<int>(sequences / shape_.sequences);
  const std::int64_t rows = sequences * length;
  batch_copied_->wait(
      kernels::Deadline::after_s(kTokenCopyDeadline_s));  // the batch before may still be on its way
  const Tensor staging = batch_staging_->tensor(DType::i32, {2, rows});
  auto* inputs = staging.as<std::int32_t>();
  split_windows(windows, length, inputs, inputs + rows);
  const Tensor batch = batch_memory_->tensor(DType::i32, {2, rows});
  device_.kernels().copy(stream_, staging, batch);
  stream_.record(*batch_copied_);
  inputs_ = batch.part(0, {rows});
  targets_ = batch.part(rows, {rows});
  losses_ = loss_memory_->tensor(kernels::accumulation_of(config_.compute_dtype), {rows});
}

std::vector<double> GptStage::microbatch_losses(kernels::Deadline deadline) {
  const Tensor host = loss_staging_->tensor(losses_.dtype, losses_.shape);
  device_.kernels().copy(stream_, losses_, host);
  stream_.synchronize(deadline);
  std::vector<double> sums(static_cast<std::size_t>(microbatches_), 0.0);
  const std::int64_t rows = shape_.rows();
  for (std::int64_t row = 0; row < host.size(); ++row)
    sums[static_cast<std::size_t>(row / rows)] +=
        host.dtype == DType::f64 ? host.as<double>()[row] : static_cast<double>(host.as<float>()[row]);
  return sums;
}

Tensor GptStage::input(int index) { return embedding_ ? Tensor{} : slot(index).boundary.front(); }
Tensor GptStage::output(int index) { return head_ ? Tensor{} : slot(index).boundary.back(); }

Tensor GptStage::contents(int index) {
  return slot(index).memory->tensor(DType::i32,
                                    {static_cast<std::int64_t>(slot_bytes_ / kernels::bytes_of(DType::i32))});
}

Tensor GptStage::batch_part(const Tensor& batch, int microbatch) const {
  return batch.part(microbatch * shape_.rows(), {shape_.sequences, shape_.length});
}

void GptStage::forward(int index, int microbatch, ForwardGradients gradients) {
  Slot& current = slot(index);
  current.microbatch = microbatch;
  if (embedding_) embedding_->forward(stream_, batch_part(inputs_, microbatch), current.boundary.front());
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    blocks_[i].forward(stream_, shape_, current.blocks[i], scratch_.block);
  if (!head_) return;
  const std::int64_t rows = shape_.rows();
  head_->forward(stream_, current.boundary.back(), batch_part(targets_, microbatch).reshaped({rows}),
                 current.head, scratch_.head, losses_.part(microbatch * rows, {rows}), gradients);
}

void GptStage::head_input(Slot& current) {
  if (head_) head_->backward_input(stream_, current.boundary.back(), current.head);
}

void GptStage::backward_input(int index) {
  assert(!config_.recomputes);
  Slot& current = slot(index);
  head_input(current);
  for (std::size_t i = blocks_.size(); i-- > 0;)
    blocks_[i].backward_input(stream_, shape_, current.blocks[i], scratch_.block);
}

void GptStage::backward_weight(int index, bool accumulate, const GradientsReady& ready) {
  assert(!config_.recomputes);
  Slot& current = slot(index);
  head_weight(current, accumulate, ready);
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].backward_weight(stream_, current.blocks[i], accumulate);
    block_is_ready(i, ready);
  }
  embedding_weight(current, accumulate, ready);
}

void GptStage::backward(int index, bool accumulate, const GradientsReady& ready) {
  Slot& current = slot(index);
  head_input(current);
  head_weight(current, accumulate, ready);
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    if (config_.recomputes) blocks_[i].recompute(stream_, current.blocks[i]);
    blocks_[i].backward(stream_, shape_, current.blocks[i], scratch_.block, accumulate);
    block_is_ready(i, ready);
  }
  embedding_weight(current, accumulate, ready);
}

void GptStage::head_weight(Slot& current, bool accumulate, const GradientsReady& ready) {
  if (!head_) return;
  head_->backward_weight(stream_, current.head, accumulate);
  if (!ready) return;
  ready(head_->first_row(), head_->end_row());
  if (head_->has_tied_copy()) ready(head_->wte_row(), head_->wte_row() + 1);
}

void GptStage::block_is_ready(std::size_t block, const GradientsReady& ready) const {
  if (ready) ready(blocks_[block].first_row(), blocks_[block].end_row());
}

void GptStage::embedding_weight(Slot& current, bool accumulate, const GradientsReady& ready) {
  if (!embedding_) return;
  // On a stage that is the whole model the head's forward pass has already (over)written the tied gradient.
  embedding_->backward_weight(stream_, batch_part(inputs_, current.microbatch), current.boundary.front(),
                              accumulate || head_.has_value(), accumulate);
  if (ready) ready(embedding_->wte_row(), embedding_->end_row());
}

}  // namespace tenax::model
