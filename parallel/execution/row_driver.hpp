// RowDriver: runs one row of a schedule: chooses the next op, waits for what it lacks, and tells of
// it. Whether an op has run when its launch returns is for the two kinds of driver: of synchronous
// and of asynchronous devices.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/signal.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/execution/row_traffic.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

/// As ScheduleExecutor, whose work it does.
class RowDriver {
 public:
  RowDriver(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
            std::vector<PipelineOp> row, const ExecutorOptions& options);
  virtual ~RowDriver() = default;
  RowDriver(const RowDriver&) = delete;
  RowDriver& operator=(const RowDriver&) = delete;

  void run(const model::GradientsReady& ready);
  void report(ScheduleObserver& observer);
  void expect_inputs(double patience_s, std::vector<double> idle_before_s);
  const std::vector<PipelineOp>& row() const { return row_; }

 protected:
  using Condition = std::function<bool()>;
  struct Op {
    PipelineOp op;
    bool done = false;  // launched
    std::unique_ptr<kernels::Event> begin, end;
  };

  /// Before an op is chosen: waits until one more may be launched.
  virtual void await_room() {}
  /// Ops may be launched whose messages the device would wait for.
  virtual bool launches_ahead() const { return false; }
  /// The row's next op is not ready: waits until it is, or until waiting for it costs time.
  virtual void await_idle(const Condition& /*planned_is_ready*/) {}
  /// A wait looks again at least this often, for whoever cannot notify.
  virtual double glance_s() const = 0;
  /// While something is waited for: looks at what the device and its messages do.
  virtual void look() {}
  /// The deadline of the op to launch is over.
  virtual void demand(const Op& entry);
  /// At the end of a run: waits for all messages.
  virtual void settle() { traffic_.settle(); }
  /// What an observer is told of a message of `op`.
  virtual TransferRecord as_told(const TransferRecord& record, const Op& /*op*/) const { return record; }

  /// False after `seconds` in which nothing happened. They begin anew whenever an op has run: what
  /// comes after it could not be there before.
  bool wait_until(const Condition& is_met, double seconds);
  bool bends() const { return options_.patience_s < options_.deadline_s; }
  /// The ops that this run has launched, in that order.
  std::size_t launched() const { return executed_.size(); }
  const Op& launched(std::size_t place) const { return ops_[static_cast<std::size_t>(executed_[place])]; }
  const ExecutorOptions& options() const { return options_; }
  const PipelineNeighbours& neighbours() const { return neighbours_; }
  RowTraffic& traffic() { return traffic_; }

  std::size_t finished_ = 0;  ///< how many of the launched ops are known to have run; of asynchronous devices

 private:
  /// The row's ops of one kind, in its order. BW is a gradient and a weight pass.
  struct OpQueue {
    std::vector<int> ops;
    std::size_t next = 0;
    bool at(int index) const { return next < ops.size() && ops[next] == index; }
  };

  void reset();
  Op& choose();
  double wait_s();
  int first_ready();
  bool ready(int index);
  bool may_hold_more() const;
  void execute(Op& entry, const model::GradientsReady& ready);
  void compute(const Op& entry, const model::GradientsReady& ready);
  model::ForwardGradients forward_gradients() const;  ///< of the next forward pass

  model::PipelineStage& stage_;
  kernels::Device& device_;
  PipelineNeighbours neighbours_;
  ExecutorOptions options_;
  std::vector<PipelineOp> row_;
  OpQueue forwards_, gradients_, weights_;
  RowTraffic traffic_;
  comm::Signal signal_;
  bool signalled_ = false;      // every link notifies: waits sleep instead of polling
  std::vector<Op> ops_;         // aligned with row_
  std::size_t first_open_ = 0;  // in ops_
  std::size_t awaited_ = 0;     // the op that due_s_ is of; beyond the last: none yet
  double due_s_ = 0;            // when the plan has its input here
  std::vector<int> executed_;   // launched, in that order
};

}  // namespace tenax::parallel
