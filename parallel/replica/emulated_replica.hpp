// EmulatedReplica: a rank of a run on the emulated device: the real schedule, messages and
// adaptation, with passes that take their time and compute nothing.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "kernels/emulated_device.hpp"
#include "model/emulated_stage.hpp"
#include "parallel/replica/replica.hpp"

namespace tenax::parallel {

class EmulatedReplica final : public Replica {
 public:
  struct Options {
    EmulatedLoad load;
    double optimizer_s = 0;
  };
  /// Collective. What `context` refers to and `device`, which is its device, must outlive the
  /// replica.
  EmulatedReplica(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context,
                  kernels::EmulatedDevice& device, Options options);

  kernels::Stream& stream() override { return *stream_; }
  PipelineRunner& pipeline() override { return *pipeline_; }
  comm::Communicator* group(GroupKind kind) override { return lent(kind, tensor_group_, data_group_); }
  bool reads_tokens() const override { return false; }
  void passes(const StepBatch& batch, const kernels::UpdateRule& rule, ScheduleObserver* observer) override;
  void reduce() override;
  void on_piece_ready(PieceReady ready) override { piece_ready_ = std::move(ready); }
  void announce_pieces() override;
  void keep_sums() override { keeps_sums_ = true; }
  void add_kept_sums() override;
  void check_sums() override {}
  void sum_tied() override {}
  double loss() override;
  StepSums norm() override;
  void update(const kernels::UpdateRule& rule, double squares) override;
  void gather() override;
  Evaluation evaluate(const StepBatch& batch, const Riders& riders) override;

 private:
  void create_tensor_group(const PipelineContext& context);
  kernels::Tensor gradients() const;
  bool is_alone() const { return layout_.grid.data == 1; }  // in its replica: nobody else adds to its sums
  void announce_rows(int begin, int end);

  Options options_;
  kernels::EmulatedDevice& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> data_group_, tensor_group_;  // tensor_group_: null where it is of one
  std::unique_ptr<model::EmulatedStage> stage_;
  std::unique_ptr<PipelineRunner> pipeline_;
  PieceReady piece_ready_;
  bool keeps_sums_ = false;  // of earlier passes of this step
};

}  // namespace tenax::parallel
