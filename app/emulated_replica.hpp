// EmulatedReplica: a rank that takes the time of training and computes nothing: its passes, the data-parallel sums over
// their real ranks and the optimizer last as long as the deck says.
#pragma once

#include <memory>
#include <span>

#include "app/pipeline_runner.hpp"
#include "app/replica.hpp"
#include "kernels/emulated_device.hpp"
#include "model/emulated_stage.hpp"

namespace tenax::app {

class EmulatedReplica final : public Replica {
 public:
  /// Collective. `place`, whose device is `device`, and what it refers to must outlive the replica.
  EmulatedReplica(const Layout& layout, const PipelinePlace& place, kernels::EmulatedDevice& device);

  bool reads_tokens() const override { return false; }
  void compute_gradients(std::span<const std::int32_t> windows, const UpdateSettings& settings,
                         parallel::ScheduleObserver* observer) override;
  void update(const UpdateSettings& settings, const Vote& vote) override;
  double evaluate(std::span<const std::int32_t> windows) override;

 private:
  Sums local_sums() override;
  PipelineRunner& pipeline() override { return *pipeline_; }
  kernels::Stream& stream() override { return *stream_; }
  kernels::Tensor gradients() const;

  const io::DeviceSection& times_;
  kernels::EmulatedDevice& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> data_group_;
  std::unique_ptr<model::EmulatedStage> stage_;
  std::unique_ptr<PipelineRunner> pipeline_;
};

}  // namespace tenax::app
