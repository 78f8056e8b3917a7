// AsynchronousDriver: the RowDriver of devices that run behind the thread that launches (GPUs).
#pragma once

#include <cassert>
#include <utility>

#include "parallel/execution/row_driver.hpp"

namespace tenax::parallel {

/// With infinite patience up to options.launch_ahead ops beyond the one that runs are launched in
/// the row's order, and the device waits for their messages where the links can order them so
/// (comm::Transfer::orders_without_blocking). Other ops are launched when their message is here. So
/// are all of the first run unless options.is_warm: libraries may wait for the whole device then
/// (memory, code, searches). One op ahead is enough to hide launching, which takes less time than
/// running; more would run into the driver's limit on launches ahead (1024), where launching
/// blocks: a pass of a dozen layers has some 300.
///
/// With a finite patience at most one op is launched ahead, and only when its message is here; the
/// patience begins when the device has nothing left to run. Without neighbours everything is
/// launched at once, and no event is asked for before report(), so that a run can be captured.
class AsynchronousDriver final : public RowDriver {
 public:
  AsynchronousDriver(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                     std::vector<PipelineOp> row, const ExecutorOptions& options)
      : RowDriver(stage, device, neighbours, std::move(row), options), is_warm_(options.is_warm) {
    assert(options.launch_ahead >= 0);
  }

 private:
  void await_room() override;
  bool launches_ahead() const override { return !bends() && is_warm_; }
  void await_idle(const Condition& planned_is_ready) override;
  double glance_s() const override { return 0.0001; }  // for the device's ops, which never notify
  void look() override;
  void demand(const Op& entry) override;
  void settle() override;
  TransferRecord as_told(const TransferRecord& record, const Op& op) const override;

  void demand_of_device();
  std::size_t finished();
  bool is_idle() { return finished() == launched(); }

  bool is_warm_;
};

}  // namespace tenax::parallel
