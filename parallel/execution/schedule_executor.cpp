#include "parallel/execution/schedule_executor.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "parallel/execution/signal_subscription.hpp"

namespace tenax::parallel {

using kernels::Deadline;

namespace {

/// A wait looks again at least this often, for whoever cannot notify; the ops of an asynchronous device never can.
constexpr double kGlance_s = 0.02;
constexpr double kAsynchronousGlance_s = 0.0001;

RowTraffic::Order order_of(const std::vector<PipelineOp>& row) {
  RowTraffic::Order order;
  for (const PipelineOp& op : row) {
    if (op.pass == Pass::forward) order.forwards.push_back(op.microbatch);
    if (gives_input_gradient(op.pass)) order.gradients.push_back(op.microbatch);
  }
  return order;
}

/// When an error ends a run, nothing may wait for its messages any more: neither the device nor their memory's owners.
class CancelOnError {
 public:
  explicit CancelOnError(RowTraffic& traffic) : traffic_(traffic) {}
  ~CancelOnError() {
    if (std::uncaught_exceptions() > exceptions_) traffic_.cancel();
  }
  CancelOnError(const CancelOnError&) = delete;
  CancelOnError& operator=(const CancelOnError&) = delete;

 private:
  RowTraffic& traffic_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

ScheduleExecutor::ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device,
                                   PipelineNeighbours neighbours, std::vector<PipelineOp> row,
                                   ExecutorOptions options)
    : stage_(stage),
      device_(device),
      neighbours_(neighbours),
      options_(options),
      row_(std::move(row)),
      traffic_(stage, device, neighbours, order_of(row_), options.slots, options.deadline_s),
      bends_(options.patience_s < options.deadline_s),
      is_asynchronous_(device.is_asynchronous()),
      is_warm_(options.is_warm) {
  assert(options.launch_ahead >= 0);
  for (std::size_t i = 0; i < row_.size(); ++i) {
    ops_.push_back({row_[i], false, device.create_event(), device.create_event()});
    if (row_[i].pass == Pass::forward) forwards_.ops.push_back(static_cast<int>(i));
    if (gives_input_gradient(row_[i].pass)) gradients_.ops.push_back(static_cast<int>(i));
    if (gives_weight_gradient(row_[i].pass)) weights_.ops.push_back(static_cast<int>(i));
  }
}

void ScheduleExecutor::reset() {
  traffic_.reset();
  for (Op& op : ops_) op.done = false;
  forwards_.next = gradients_.next = weights_.next = first_open_ = finished_ = 0;
  executed_.clear();
}

void ScheduleExecutor::run(const model::GradientsReady& ready, const std::function<void()>& progress,
                           ScheduleObserver* observer) {
  reset();
  const SignalSubscription subscription(neighbours_, signal_);
  const CancelOnError on_error(traffic_);
  signalled_ = subscription.to_all();
  while (executed_.size() < ops_.size()) {
    if (is_asynchronous_) await_room();
    traffic_.post();
    execute(choose(), ready);
    if (progress) progress();
  }
  settle();
  is_warm_ = true;
  if (observer) report(*observer);
}

void ScheduleExecutor::await_room() {
  if (!neighbours_.upstream && !neighbours_.downstream) return;
  const std::size_t ahead = bends_ ? 1 : static_cast<std::size_t>(options_.launch_ahead);
  while (!wait_until([&] { return executed_.size() - finished() <= ahead; }, options_.deadline_s))
    demand_running();
}

// How many ops have run, in the order they were launched in.
std::size_t ScheduleExecutor::finished() {
  const auto has_run = [this](int index) { return ops_[static_cast<std::size_t>(index)].end->done(); };
  while (finished_ < executed_.size() && has_run(executed_[finished_])) ++finished_;
  return finished_;
}

// The row's next op; when its input is late, the first of the row that is ready.
ScheduleExecutor::Op& ScheduleExecutor::choose() {
  while (ops_[first_open_].done) ++first_open_;
  const int next = static_cast<int>(first_open_);
  Op& planned = ops_[first_open_];
  const auto planned_is_ready = [&] { return ready(next); };
  if (planned_is_ready()) return planned;
  if (!bends_) {
    while (!wait_until(planned_is_ready, options_.deadline_s)) demand(planned);
    return planned;
  }
  // There is no hurry before the device has nothing to do.
  if (is_asynchronous_) wait_until([&] { return planned_is_ready() || is_idle(); }, options_.deadline_s);
  if (wait_until(planned_is_ready, options_.patience_s)) return planned;
  int chosen = next;
  const auto any_is_ready = [&] { return (chosen = first_ready()) >= 0; };
  if (!wait_until(any_is_ready, options_.deadline_s)) {
    demand(planned);
    chosen = next;
  }
  if (chosen != next)
    stage_.stream().input_arrived(kernels::steady_now_s());  // it was the waiting that started this op
  return ops_[static_cast<std::size_t>(chosen)];
}

/// In the row's order; -1: none.
int ScheduleExecutor::first_ready() {
  int first = -1;
  for (const OpQueue* queue : {&forwards_, &gradients_, &weights_}) {
    if (queue->next == queue->ops.size()) continue;
    const int index = queue->ops[queue->next];
    if ((first < 0 || index < first) && ready(index)) first = index;
  }
  return first;
}

bool ScheduleExecutor::ready(int index) {
  const PipelineOp& op = row_[static_cast<std::size_t>(index)];
  const bool ahead = is_asynchronous_ && !bends_ && is_warm_;
  if (op.pass == Pass::forward) return forwards_.at(index) && traffic_.ready_forward(op.microbatch, ahead);
  if (gives_weight_gradient(op.pass) && !weights_.at(index)) return false;
  if (op.pass == Pass::backward_weight) return traffic_.has_gradient(op.microbatch);
  return gradients_.at(index) && traffic_.ready_gradient(op.microbatch, ahead);
}

// The time begins anew whenever an op has run: what comes after it could not be there before.
template <class Ready>
bool ScheduleExecutor::wait_until(Ready is_ready, double seconds) {
  const double glance_s = std::min(is_asynchronous_ ? kAsynchronousGlance_s : kGlance_s, seconds);
  Deadline deadline = Deadline::after_s(seconds);
  kernels::Backoff backoff;
  std::size_t finished_before = finished_;
  while (!is_ready()) {
    if (is_asynchronous_) {
      traffic_.watch();
      if (finished() > finished_before) deadline = Deadline::after_s(seconds);
      finished_before = finished_;
    }
    if (deadline.expired()) return is_ready();
    if (signalled_)
      signal_.wait_until(is_ready, Deadline::after_s(glance_s));
    else
      backoff.pause();
  }
  return true;
}

// The deadline is over.
void ScheduleExecutor::demand(const Op& entry) {
  if (!is_idle()) return demand_running();
  traffic_.demand(entry.op.microbatch);
  if (!ready(static_cast<int>(&entry - ops_.data())))
    throw kernels::Error(kernels::Scope::operation, "the pipeline schedule waits for ever at " +
                                                        to_string(entry.op) + ": no slot is free");
}

// The same of the op that the device is at.
void ScheduleExecutor::demand_running() {
  const Op& entry = ops_[static_cast<std::size_t>(executed_[finished_])];
  traffic_.demand(entry.op.microbatch);
  entry.end->wait(Deadline::after_s(options_.deadline_s));
}

void ScheduleExecutor::execute(Op& entry, const model::GradientsReady& ready) {
  const PipelineOp& op = entry.op;
  if (op.pass == Pass::forward) traffic_.begin_forward(op.microbatch);
  if (gives_input_gradient(op.pass)) traffic_.begin_gradient(op.microbatch);
  traffic_.clear_misses();
  const kernels::Range range(device_, to_string(op).c_str());
  stage_.stream().record(*entry.begin);
  compute(entry, ready);
  stage_.stream().record(*entry.end);
  entry.done = true;
  executed_.push_back(static_cast<int>(&entry - ops_.data()));
  if (op.pass == Pass::forward) traffic_.end_forward(op.microbatch);
  if (gives_input_gradient(op.pass)) traffic_.end_gradient(op.microbatch);
  if (gradients_.ops.empty() || gives_weight_gradient(op.pass)) traffic_.release(op.microbatch, *entry.end);
}

void ScheduleExecutor::compute(const Op& entry, const model::GradientsReady& ready) {
  const PipelineOp& op = entry.op;
  const int slot = traffic_.slot(op.microbatch);
  // The first microbatch's weight gradients overwrite: nobody has to zero them.
  const bool accumulate = weights_.next > 0, last = weights_.next + 1 == weights_.ops.size();
  const model::GradientsReady told = last ? ready : model::GradientsReady{};
  switch (op.pass) {
    case Pass::forward:
      stage_.forward(slot, op.microbatch);
      ++forwards_.next;
      break;
    case Pass::backward_input:
      stage_.backward_input(slot);
      break;
    case Pass::backward_weight:
      stage_.backward_weight(slot, accumulate, told);
      break;
    case Pass::backward:
      stage_.backward(slot, accumulate, told);
      break;
  }
  if (gives_input_gradient(op.pass)) ++gradients_.next;
  if (gives_weight_gradient(op.pass)) ++weights_.next;
}

// On an asynchronous device messages may be outstanding that ops were launched for; whatever is computed from here on may
// rely on them.
void ScheduleExecutor::settle() {
  if (is_asynchronous_) wait_until([&] { return traffic_.watch(); }, options_.deadline_s);
  traffic_.settle();
}

void ScheduleExecutor::report(ScheduleObserver& observer) {
  for (const int index : executed_) {
    const Op& entry = ops_[static_cast<std::size_t>(index)];
    const PipelineOp& op = entry.op;
    entry.end->wait(Deadline::after_s(options_.deadline_s));
    if (const TransferRecord* got = traffic_.received(op.pass, op.microbatch)) observer.on_transfer(*got);
    observer.on_pass({op, entry.begin->time_s(), entry.end->time_s()});
    if (const TransferRecord* sent = traffic_.sent(op.pass, op.microbatch)) {
      TransferRecord record = *sent;
      if (is_asynchronous_) record.begin_s = std::min(entry.end->time_s(), record.end_s);
      observer.on_transfer(record);
    }
  }
}

}  // namespace tenax::parallel
