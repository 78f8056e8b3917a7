// EmulatedReplica: a rank of a run on the emulated device: the real schedule, messages and
// adaptation, with passes that take their time and compute nothing.
#pragma once

#include <memory>
#include <span>

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
  EmulatedReplica(const Layout& layout, const BatchPlan& batch, const PipelineContext& context,
                  kernels::EmulatedDevice& device, Options options);

  PipelineRunner& pipeline() override { return *pipeline_; }
  bool reads_tokens() const override { return false; }
  void passes(std::span<const std::int32_t> windows, const kernels::UpdateRule& rule,
              ScheduleObserver* observer) override;
  void reduce() override;
  void sum_tied() override {}
  StepSums norm() override;
  void update(double squares) override;
  void gather() override;
  double evaluate(std::span<const std::int32_t> windows) override;

 private:
  kernels::Stream& stream() override { return *stream_; }
  kernels::Tensor gradients() const;

  Options options_;
  kernels::EmulatedDevice& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> data_group_;
  std::unique_ptr<model::EmulatedStage> stage_;
  std::unique_ptr<PipelineRunner> pipeline_;
};

}  // namespace tenax::parallel
