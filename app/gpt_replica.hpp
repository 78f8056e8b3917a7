// GptReplica: a rank that trains a stage of a GPT.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "app/pipeline_runner.hpp"
#include "app/replica.hpp"
#include "app/step_graph.hpp"
#include "model/activation_offload.hpp"
#include "model/gpt_stage.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/state_mirror.hpp"

namespace tenax::app {

class GptReplica final : public Replica {
 public:
  /// Collective. `place` and what it refers to must outlive the replica.
  GptReplica(const Layout& layout, const PipelinePlace& place);

  parallel::TrainingState& state() { return *state_; }
  parallel::StateMirror& mirror() { return *mirror_; }
  bool reads_tokens() const override { return span_.has_embedding || span_.has_head; }
  void compute_gradients(std::span<const std::int32_t> windows, const UpdateSettings& settings,
                         parallel::ScheduleObserver* observer) override;
  void update(const UpdateSettings& settings, const Vote& vote) override;
  double evaluate(std::span<const std::int32_t> windows) override;

 private:
  Sums local_sums() override;
  PipelineRunner& pipeline() override { return *pipeline_; }
  kernels::Stream& stream() override { return *stream_; }
  model::PipelineStage& allocate(int slots, kernels::Device& device);
  void announce(const PipelineRunner::Row& row);
  void run_passes(parallel::ScheduleObserver* observer);
  void run_step(parallel::ScheduleObserver* observer);
  kernels::AdamWRule rule(const UpdateSettings& settings) const;
  double local_loss();
  kernels::Deadline all_run() const;  ///< for what was launched

  model::StageSpan span_;
  bool is_alone_;  // no other rank has a say in an update
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> tensor_group_, data_group_, embedding_group_;
  std::unique_ptr<model::GptStage> stage_;
  std::unique_ptr<model::ActivationOffload> offload_;  // null: all activations are on the device
  std::unique_ptr<parallel::TrainingState> state_;
  std::unique_ptr<parallel::StateMirror> mirror_;
  std::unique_ptr<parallel::GradientReducer> reducer_;
  std::unique_ptr<PipelineRunner> pipeline_;
  std::optional<StepGraph> graph_;  // absent: a step is launched op by op
};

}  // namespace tenax::app
