#include "parallel/execution/schedule_executor.hpp"

#include "parallel/execution/asynchronous_driver.hpp"
#include "parallel/execution/row_driver.hpp"

namespace tenax::parallel {
namespace {

/// An op has run when its launch returns.
class SynchronousDriver final : public RowDriver {
 public:
  using RowDriver::RowDriver;

 private:
  double glance_s() const override { return 0.02; }
};

}  // namespace

ScheduleExecutor::ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device,
                                   PipelineNeighbours neighbours, std::vector<PipelineOp> row,
                                   ExecutorOptions options) {
  if (device.is_asynchronous())
    driver_ = std::make_unique<AsynchronousDriver>(stage, device, neighbours, std::move(row), options);
  else
    driver_ = std::make_unique<SynchronousDriver>(stage, device, neighbours, std::move(row), options);
}

ScheduleExecutor::~ScheduleExecutor() = default;

void ScheduleExecutor::run(const model::GradientsReady& ready) { driver_->run(ready); }

void ScheduleExecutor::report(ScheduleObserver& observer) { driver_->report(observer); }

void ScheduleExecutor::expect_inputs(double patience_s, std::vector<double> idle_before_s) {
  driver_->expect_inputs(patience_s, std::move(idle_before_s));
}

const std::vector<PipelineOp>& ScheduleExecutor::row() const { return driver_->row(); }

}  // namespace tenax::parallel
