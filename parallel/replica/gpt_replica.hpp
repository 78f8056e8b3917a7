// GptReplica: a rank that trains a stage of a GPT.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "model/activation_offload.hpp"
#include "model/gpt_stage.hpp"
#include "parallel/execution/gradient_reducer.hpp"
#include "parallel/replica/replica.hpp"
#include "parallel/replica/step_graph.hpp"
#include "parallel/state/state_mirror.hpp"

namespace tenax::parallel {

class GptReplica final : public Replica {
 public:
  struct Options {
    bool captures_graph = false;  ///< a step becomes one launch, where the device can and this rank is alone
    /// This rank's replica in the grid before; may be null. It goes as soon as the new one has its state,
    /// or stays, and the new one goes. A rank that keeps its place has the same memory in both: weights,
    /// gradients, optimizer, mirror, activations. One that moves has new memory for what the old replica
    /// would miss, and of the rest what is large enough.
    const GptReplica* before = nullptr;
    /// Memory for a second optimizer state is kept from the start on, for a change of places: to clear
    /// fresh pages takes longer than the state takes to come.
    bool keeps_spare = false;
    /// A rank that is alone waits for a vote as others do, so that somebody can look at its state between
    /// the passes and the update.
    bool waits_for_votes = false;
  };
  /// Collective. What `context` refers to must outlive the replica. Throws comm::AgreedError where a
  /// rank has no memory for its state, Error(rank) on a rank that has none for its activations.
  GptReplica(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context, Options options);

  TrainingState& state() { return *state_; }
  StateMirror& mirror() { return *mirror_; }
  kernels::Stream& stream() override { return *stream_; }
  PipelineRunner& pipeline() override { return *pipeline_; }
  comm::Communicator* group(GroupKind kind) override { return lent(kind, tensor_group_, data_group_); }
  bool reads_tokens() const override { return span_.has_embedding || span_.has_head; }
  void passes(const StepBatch& batch, const kernels::UpdateRule& rule, ScheduleObserver* observer) override;
  void reduce() override;
  void on_piece_ready(PieceReady ready) override { piece_ready_ = std::move(ready); }
  void announce_pieces() override;
  void keep_sums() override;
  void add_kept_sums() override;
  void check_sums() override;
  void sum_tied() override;
  double loss() override;
  StepSums norm() override;
  void update(const kernels::UpdateRule& rule, double squares) override;
  void gather() override;
  Evaluation evaluate(const StepBatch& batch, const Riders& riders) override;

 private:
  bool stays(const GptReplica* before) const { return before && before->coordinates_ == coordinates_; }
  StateBuffers state_memory(const Options& options, kernels::Device& device) const;
  model::PipelineStage& allocate(int slots, kernels::Device& device);
  void announce(const PipelineRunner::Row& row);
  void run_passes(int microbatches, ScheduleObserver* observer);
  void run_step(int microbatches, ScheduleObserver* observer);
  void tell_of(int bucket);
  void check_groups();
  kernels::Deadline all_run() const;  ///< for what was launched

  model::StageSpan span_;
  bool is_alone_;  // no other rank has a say in an update
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> tensor_group_, data_group_, embedding_group_;
  std::unique_ptr<model::GptStage> stage_;
  std::unique_ptr<model::ActivationOffload> offload_;  // null: all activations are on the device
  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<StateMirror> mirror_;
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<PipelineRunner> pipeline_;
  std::optional<StepGraph> graph_;  // absent: a step is launched op by op
  PieceReady piece_ready_;
  bool keeps_sums_ = false;  // of earlier passes of this step
};

}  // namespace tenax::parallel
