// After a step each rank knows when its own messages were ready and when its neighbours' arrived. Neighbours
// swap their ready times (one message of N doubles each way), and each receiver estimates the delay of what
// it received; then all ranks gather all stage measurements (about 200 bytes each) and combine them alike.
#include "resilience/adaptation/pipeline_monitor.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "comm/link.hpp"
#include "resilience/adaptation/delay_estimator.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::resilience {
namespace {

using parallel::TransferKind;
using parallel::TransferRecord;

// Far from the tags of tensors, in case the endpoint carries both.
constexpr comm::Tag kAlignmentTag = comm::kMaxTag - 1, kReadyTag = comm::kMaxTag - 2;
// Of the first alignment of clocks, and of the later ones.
constexpr int kFirstRounds = 8, kLaterRounds = 2;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::size_t index_of(const TransferRecord& record) { return static_cast<std::size_t>(record.microbatch); }

}  // namespace

PipelineMonitor::PipelineMonitor(int microbatches, comm::Endpoint& pipeline, comm::ControlGroup& group,
                                 MonitorOptions options, comm::ClockSource clock)
    : pipeline_(pipeline), group_(group), options_(options), clock_(std::move(clock)) {
  assert(options.realign_interval >= 1);
  set_microbatches(microbatches);
}

void PipelineMonitor::set_microbatches(int microbatches) {
  for (Neighbour* neighbour : {&upstream_, &downstream_}) {
    neighbour->ready_s.assign(static_cast<std::size_t>(microbatches), kNone);
    neighbour->peer_ready_s = neighbour->ready_s;
  }
}

void PipelineMonitor::on_pass(const parallel::PassRecord& record) {
  const bool first = last_end_s_ <= first_start_s_;
  first_start_s_ = first ? record.begin_s : std::min(first_start_s_, record.begin_s);
  last_end_s_ = first ? record.end_s : std::max(last_end_s_, record.end_s);
}

void PipelineMonitor::on_transfer(const TransferRecord& record) {
  Neighbour& neighbour = is_upstream(record.kind) ? upstream_ : downstream_;
  if (is_send(record.kind))
    neighbour.ready_s.at(index_of(record)) = record.begin_s;
  else
    neighbour.arrivals.push_back(record);
}

PipelineMeasurement PipelineMonitor::finish_step(const PassMeasurement& passes) {
  if (steps_ % options_.realign_interval == 0) align_clocks();
  ++steps_;
  exchange_ready_times();
  own_ = {.stage = pipeline_.rank(),
          .lane = options_.lane,
          .passes = passes,
          .activations = measure(upstream_),
          .gradients = measure(downstream_),
          .first_start_s = first_start_s_,
          .last_end_s = last_end_s_,
          .upstream_offset_s = upstream_.clock.offset_s()};
  skip_step();
  std::vector<StageMeasurement> of_ranks;
  for (const std::string& bytes : group_.all_gather(to_bytes(own_)))
    of_ranks.push_back(stage_of_bytes(bytes));
  return combine(of_ranks);
}

// Links of even number first, then the others: every rank serves one neighbour at a time.
void PipelineMonitor::align_clocks() {
  const comm::AlignmentOptions options{.rounds = steps_ == 0 ? kFirstRounds : kLaterRounds,
                                       .tag = kAlignmentTag,
                                       .deadline_s = options_.deadline_s};
  const int stage = pipeline_.rank();
  for (const int parity : {0, 1}) {
    if (has_downstream() && stage % 2 == parity)
      downstream_.clock.add(
          comm::measure_clock_offset(pipeline_.link(stage + 1), comm::AlignmentRole::asks, options, clock_));
    if (has_upstream() && (stage - 1) % 2 == parity)
      upstream_.clock.add(comm::measure_clock_offset(pipeline_.link(stage - 1), comm::AlignmentRole::answers,
                                                     options, clock_));
  }
}

void PipelineMonitor::exchange_ready_times() {
  comm::HostStream stream;
  std::vector<comm::TransferPtr> transfers;
  const auto swap_with = [&](int stage, Neighbour& neighbour) {
    comm::Link& link = pipeline_.link(stage);
    transfers.push_back(link.receive(stream, comm::as_tensor(neighbour.peer_ready_s), kReadyTag));
    transfers.push_back(link.send(stream, comm::as_tensor(neighbour.ready_s), kReadyTag));
  };
  if (has_upstream()) swap_with(pipeline_.rank() - 1, upstream_);
  if (has_downstream()) swap_with(pipeline_.rank() + 1, downstream_);
  const auto deadline = kernels::Deadline::after_s(options_.deadline_s);
  for (const comm::TransferPtr& transfer : transfers) transfer->wait(deadline);
}

LinkMeasurement PipelineMonitor::measure(const Neighbour& neighbour) const {
  if (neighbour.arrivals.empty()) return {};
  std::vector<TransferRecord> arrivals;
  for (const TransferRecord& arrival : neighbour.arrivals) {
    const double ready_s = neighbour.peer_ready_s.at(index_of(arrival));
    if (std::isnan(ready_s)) continue;
    TransferRecord& converted = arrivals.emplace_back(arrival);
    converted.begin_s = neighbour.clock.to_mine_s(ready_s);
    if (arrival.started_s) converted.started_s = neighbour.clock.to_mine_s(*arrival.started_s);
  }
  return estimate_delay(arrivals, neighbour.clock.error_s(clock_()));
}

void PipelineMonitor::skip_step() {
  for (Neighbour* neighbour : {&upstream_, &downstream_}) {
    std::fill(neighbour->ready_s.begin(), neighbour->ready_s.end(), kNone);
    neighbour->arrivals.clear();
  }
  first_start_s_ = last_end_s_ = 0;
}

}  // namespace tenax::resilience
