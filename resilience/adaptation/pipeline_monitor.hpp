// PipelineMonitor: measures a pipeline while it trains. Each rank times the messages that it
// receives; together with the times of its passes all ranks make one measurement of the pipeline.
#pragma once

#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/control_group.hpp"
#include "comm/link.hpp"
#include "parallel/schedule/schedule_observer.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::resilience {

struct MonitorOptions {
  int lane = 0;               ///< this rank's tensor coordinate
  int realign_interval = 16;  ///< iterations between clock alignments; the same on every rank
  double deadline_s = 60;
};

/// Records while the executor reports a step, then measures. During the step itself it costs
/// nothing. Thread rule: one thread.
class PipelineMonitor : public parallel::ScheduleObserver {
 public:
  /// `pipeline`: control-plane links between the stages of this rank's lane; a rank's number is its
  /// stage. `group`: all ranks of this pipeline, every lane. Both must outlive the monitor; neither
  /// passes through fault injection: they stand for the management network. `clock` is the one of
  /// the records.
  PipelineMonitor(int microbatches, comm::Endpoint& pipeline, comm::ControlGroup& group,
                  MonitorOptions options, comm::ClockSource clock = comm::steady_now_s);

  /// Between steps: the next ones have so many.
  void set_microbatches(int microbatches);

  void on_pass(const parallel::PassRecord& record) override;
  void on_transfer(const parallel::TransferRecord& record) override;

  /// Collective over `group`, after a step that the monitor observed and in which this rank's
  /// passes took `passes`: the measurement of that step, the same bits on every rank. Throws
  /// Error(link) or Error(replica) when a rank is silent.
  PipelineMeasurement finish_step(const PassMeasurement& passes);
  /// Instead: the step is not measured.
  void skip_step();
  /// What this rank contributed to the last measurement.
  const StageMeasurement& own() const { return own_; }

 private:
  /// One neighbour: times to tell it, and messages that came from it.
  struct Neighbour {
    std::vector<double> ready_s;  ///< by microbatch: when this rank's messages to it were ready; NaN = none
    std::vector<double> peer_ready_s;  ///< the same of its messages, its clock
    std::vector<parallel::TransferRecord> arrivals;
    comm::ClockAlignment clock;
  };

  bool has_upstream() const { return pipeline_.rank() > 0; }
  bool has_downstream() const { return pipeline_.rank() + 1 < pipeline_.size(); }
  void align_clocks();
  void exchange_ready_times();
  LinkMeasurement measure(const Neighbour& neighbour) const;

  comm::Endpoint& pipeline_;
  comm::ControlGroup& group_;
  MonitorOptions options_;
  comm::ClockSource clock_;
  Neighbour upstream_, downstream_;
  double first_start_s_ = 0, last_end_s_ = 0;
  StageMeasurement own_;
  int steps_ = 0;
};

}  // namespace tenax::resilience
