#include "parallel/execution/row_driver.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace tenax::parallel {

using kernels::Deadline;

namespace {

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

/// While it lives, the links' signals are passed on to `signal`.
class SignalSubscription {
 public:
  SignalSubscription(PipelineNeighbours neighbours, comm::Signal& signal) {
    for (comm::Link* link : {neighbours.upstream, neighbours.downstream}) {
      if (!link) continue;
      to_all_ = to_all_ && link->signal();
      if (!link->signal()) continue;
      link->signal()->pass_on_to(&signal);
      sources_.push_back(link->signal());
    }
  }
  ~SignalSubscription() {
    for (comm::Signal* source : sources_) source->pass_on_to(nullptr);
  }
  SignalSubscription(const SignalSubscription&) = delete;
  SignalSubscription& operator=(const SignalSubscription&) = delete;
  bool to_all() const { return to_all_; }

 private:
  std::vector<comm::Signal*> sources_;
  bool to_all_ = true;
};

}  // namespace

RowDriver::RowDriver(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                     std::vector<PipelineOp> row, const ExecutorOptions& options)
    : stage_(stage),
      device_(device),
      neighbours_(neighbours),
      options_(options),
      row_(std::move(row)),
      traffic_(stage, device, neighbours, order_of(row_), options.slots, options.deadline_s) {
  expect_inputs(options.patience_s, options.idle_before_s);
  for (std::size_t i = 0; i < row_.size(); ++i) {
    ops_.push_back({row_[i], false, device.create_event(), device.create_event()});
    if (row_[i].pass == Pass::forward) forwards_.ops.push_back(static_cast<int>(i));
    if (gives_input_gradient(row_[i].pass)) gradients_.ops.push_back(static_cast<int>(i));
    if (gives_weight_gradient(row_[i].pass)) weights_.ops.push_back(static_cast<int>(i));
  }
}

void RowDriver::expect_inputs(double patience_s, std::vector<double> idle_before_s) {
  assert(idle_before_s.empty() || idle_before_s.size() == row_.size());
  options_.patience_s = patience_s;
  options_.idle_before_s = std::move(idle_before_s);
}

void RowDriver::reset() {
  traffic_.reset();
  for (Op& op : ops_) op.done = false;
  forwards_.next = gradients_.next = weights_.next = first_open_ = finished_ = 0;
  awaited_ = ops_.size();
  executed_.clear();
}

void RowDriver::run(const model::GradientsReady& ready) {
  reset();
  const SignalSubscription subscription(neighbours_, signal_);
  const CancelOnError on_error(traffic_);
  signalled_ = subscription.to_all();
  while (executed_.size() < ops_.size()) {
    await_room();
    traffic_.post();
    execute(choose(), ready);
  }
  settle();
}

// The row's next op; when its input is late, the first of the row that is ready.
RowDriver::Op& RowDriver::choose() {
  while (ops_[first_open_].done) ++first_open_;
  const int next = static_cast<int>(first_open_);
  Op& planned = ops_[first_open_];
  const Condition planned_is_ready = [&] { return ready(next); };
  if (planned_is_ready()) return planned;
  if (!bends()) {
    while (!wait_until(planned_is_ready, options_.deadline_s)) demand(planned);
    return planned;
  }
  await_idle(planned_is_ready);
  if (wait_until(planned_is_ready, wait_s())) return planned;
  int chosen = next;
  if (!wait_until([&] { return (chosen = first_ready()) >= 0; }, options_.deadline_s)) {
    demand(planned);
    chosen = next;
  }
  if (chosen != next)
    stage_.stream().input_arrived(kernels::steady_now_s());  // it was the waiting that started this op
  return ops_[static_cast<std::size_t>(chosen)];
}

/// Before another op goes ahead of the row's next one. What the plan idles there passes once, whatever goes ahead.
double RowDriver::wait_s() {
  const double now_s = kernels::steady_now_s();
  const std::vector<double>& idle_s = options_.idle_before_s;
  if (std::exchange(awaited_, first_open_) != first_open_)
    due_s_ = now_s + (idle_s.empty() ? 0 : idle_s[first_open_]);
  return std::min(std::max(0.0, due_s_ - now_s) + options_.patience_s, options_.deadline_s);
}

/// In the row's order; -1: none.
int RowDriver::first_ready() {
  int first = -1;
  for (const OpQueue* queue : {&forwards_, &gradients_, &weights_}) {
    if (queue->next == queue->ops.size()) continue;
    const int index = queue->ops[queue->next];
    if ((first < 0 || index < first) && ready(index)) first = index;
  }
  return first;
}

bool RowDriver::ready(int index) {
  const PipelineOp& op = row_[static_cast<std::size_t>(index)];
  const bool ahead = launches_ahead();
  if (op.pass == Pass::forward)
    return forwards_.at(index) && may_hold_more() && traffic_.ready_forward(op.microbatch, ahead);
  if (gives_weight_gradient(op.pass) && !weights_.at(index)) return false;
  if (op.pass == Pass::backward_weight) return traffic_.has_gradient(op.microbatch);
  return gradients_.at(index) && traffic_.ready_gradient(op.microbatch, ahead);
}

// In a row of forwards alone nothing stays.
bool RowDriver::may_hold_more() const {
  return weights_.ops.empty() ||
         forwards_.next - weights_.next < static_cast<std::size_t>(options_.most_live);
}

bool RowDriver::wait_until(const Condition& is_met, double seconds) {
  const double glance = std::min(glance_s(), seconds);
  Deadline deadline = Deadline::after_s(seconds);
  kernels::Backoff backoff;
  std::size_t finished_before = finished_;
  while (!is_met()) {
    look();
    if (finished_ > finished_before) deadline = Deadline::after_s(seconds);
    finished_before = finished_;
    if (deadline.expired()) return is_met();
    if (signalled_)
      signal_.wait_until([&] { return is_met(); }, Deadline::after_s(glance));
    else
      backoff.pause();
  }
  return true;
}

// Ends in the words of a link where a message is missing.
void RowDriver::demand(const Op& entry) {
  traffic_.demand(entry.op.microbatch);
  if (!ready(static_cast<int>(&entry - ops_.data())))
    throw kernels::Error(kernels::Scope::operation, "the pipeline schedule waits for ever at " +
                                                        to_string(entry.op) + ": no slot is free");
}

void RowDriver::execute(Op& entry, const model::GradientsReady& ready) {
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

void RowDriver::compute(const Op& entry, const model::GradientsReady& ready) {
  const PipelineOp& op = entry.op;
  const int slot = traffic_.slot(op.microbatch);
  // The first microbatch's weight gradients overwrite: nobody has to zero them.
  const bool accumulate = weights_.next > 0, last = weights_.next + 1 == weights_.ops.size();
  const model::GradientsReady told = last ? ready : model::GradientsReady{};
  switch (op.pass) {
    case Pass::forward:
      stage_.forward(slot, op.microbatch, forward_gradients());
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

model::ForwardGradients RowDriver::forward_gradients() const {
  if (weights_.ops.empty()) return model::ForwardGradients::none;
  return forwards_.next == 0 ? model::ForwardGradients::overwrite : model::ForwardGradients::add;
}

void RowDriver::report(ScheduleObserver& observer) {
  for (const int index : executed_) {
    const Op& entry = ops_[static_cast<std::size_t>(index)];
    const PipelineOp& op = entry.op;
    entry.end->wait(Deadline::after_s(options_.deadline_s));
    if (const TransferRecord* got = traffic_.received(op.pass, op.microbatch))
      observer.on_transfer(as_told(*got, entry));
    observer.on_pass({op, entry.begin->time_s(), entry.end->time_s()});
    if (const TransferRecord* sent = traffic_.sent(op.pass, op.microbatch))
      observer.on_transfer(as_told(*sent, entry));
  }
}

}  // namespace tenax::parallel
