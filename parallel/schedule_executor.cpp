#include "parallel/schedule_executor.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "kernels/error.hpp"

namespace tenax::parallel {

using kernels::Deadline;
using kernels::Tensor;

namespace {

/// A wait looks again at least this often, for whoever cannot notify.
constexpr double kGlance_s = 0.02;

// One tag per (direction, microbatch); messages of one tag arrive in the order of the steps that sent them.
comm::Tag tag_of(TransferKind kind, int microbatch) {
  const bool gradient = kind == TransferKind::receive_gradient || kind == TransferKind::send_gradient;
  return 2 * microbatch + (gradient ? 1 : 0);
}

int microbatches_of(const std::vector<PipelineOp>& row) {
  int microbatches = 0;
  for (const PipelineOp& op : row) microbatches = std::max(microbatches, op.microbatch + 1);
  return microbatches;
}

/// The links' signals wake this executor while it runs.
class Listening {
 public:
  Listening(PipelineNeighbours neighbours, comm::Signal& signal) {
    for (comm::Link* link : {neighbours.upstream, neighbours.downstream}) {
      if (!link) continue;
      to_all_ = to_all_ && link->signal();
      if (!link->signal()) continue;
      link->signal()->pass_on_to(&signal);
      sources_.push_back(link->signal());
    }
  }
  ~Listening() {
    for (comm::Signal* source : sources_) source->pass_on_to(nullptr);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  bool to_all() const { return to_all_; }

 private:
  std::vector<comm::Signal*> sources_;
  bool to_all_ = true;
};

}  // namespace

ScheduleExecutor::ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device,
                                   PipelineNeighbours neighbours, std::vector<PipelineOp> row,
                                   ExecutorOptions options)
    : stage_(stage), neighbours_(neighbours), options_(options), row_(std::move(row)) {
  assert(options.slots >= 1);
  for (std::size_t i = 0; i < row_.size(); ++i) {
    ops_.push_back({row_[i], false, device.create_event(), device.create_event()});
    if (row_[i].pass == Pass::forward) forwards_.ops.push_back(static_cast<int>(i));
    if (gives_input_gradient(row_[i].pass)) gradients_.ops.push_back(static_cast<int>(i));
    if (gives_weight_gradient(row_[i].pass)) weights_.ops.push_back(static_cast<int>(i));
  }
  forward_only_ = gradients_.ops.empty();
}

void ScheduleExecutor::reset() {
  microbatches_ = std::vector<Microbatch>(static_cast<std::size_t>(microbatches_of(row_)));
  slots_.assign(static_cast<std::size_t>(options_.slots), Slot{});
  for (Op& op : ops_) op.done = false;
  forwards_.next = gradients_.next = weights_.next = next_input_ = first_open_ = 0;
  executed_.clear();
}

void ScheduleExecutor::run(const model::GradientsReady& ready, const std::function<void()>& progress,
                           ScheduleObserver* observer) {
  reset();
  const Listening listening(neighbours_, signal_);
  signalled_ = listening.to_all();
  while (executed_.size() < ops_.size()) {
    post_receives();
    execute(choose(), ready);
    if (progress) progress();
  }
  for (Microbatch& microbatch : microbatches_) {
    settle(microbatch.output);
    settle(microbatch.d_input);
  }
  if (observer) report(*observer);
}

void ScheduleExecutor::post_receives() {
  if (neighbours_.upstream) post_inputs();
  if (neighbours_.downstream) post_gradients();
}

// An F receives into its slot's input, of which the slot's last microbatch may still be sending the gradient.
void ScheduleExecutor::post_inputs() {
  for (; next_input_ < forwards_.ops.size(); ++next_input_) {
    const int m = row_[static_cast<std::size_t>(forwards_.ops[next_input_])].microbatch;
    Microbatch& microbatch = microbatches_[static_cast<std::size_t>(m)];
    if (!take_slot(microbatch)) return;
    receive(microbatch.input, TransferKind::receive_activation, m, microbatch.slot);
  }
}

// A B receives into its slot's output, which its own F wrote and may still be sending.
void ScheduleExecutor::post_gradients() {
  for (std::size_t i = gradients_.next; i < gradients_.ops.size(); ++i) {
    const int m = row_[static_cast<std::size_t>(gradients_.ops[i])].microbatch;
    Microbatch& microbatch = microbatches_[static_cast<std::size_t>(m)];
    if (!microbatch.forward_done) return;
    if (!microbatch.d_output.transfer && poll(microbatch.output))
      receive(microbatch.d_output, TransferKind::receive_gradient, m, microbatch.slot);
  }
}

bool ScheduleExecutor::take_slot(Microbatch& microbatch) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.free || (slot.input_reader && !poll(*slot.input_reader))) continue;
    slot.free = false;
    slot.input_reader = nullptr;
    microbatch.slot = static_cast<int>(i);
    return true;
  }
  return false;
}

// The row's next op; when its input is late, the first of the row that is ready.
ScheduleExecutor::Op& ScheduleExecutor::choose() {
  while (ops_[first_open_].done) ++first_open_;
  const int next = static_cast<int>(first_open_);
  Op& planned = ops_[first_open_];
  if (ready(next)) return planned;
  const bool bends = options_.patience_s < options_.deadline_s;
  if (wait_until([&] { return ready(next); }, bends ? options_.patience_s : options_.deadline_s))
    return planned;
  int chosen = next;
  const auto any_ready = [&] {
    const Lane* const lanes[] = {&forwards_, &gradients_, &weights_};
    int first = -1;
    for (const Lane* lane : lanes) {
      if (lane->next == lane->ops.size()) continue;
      const int index = lane->ops[lane->next];
      if ((first < 0 || index < first) && ready(index)) first = index;
    }
    chosen = first;
    return first >= 0;
  };
  if (!bends || !wait_until(any_ready, options_.deadline_s)) press(planned);
  if (chosen != next)
    stage_.stream().input_arrived(kernels::steady_now_s());  // it was the waiting that started this op
  return ops_[static_cast<std::size_t>(chosen)];
}

bool ScheduleExecutor::ready(int index) {
  const PipelineOp& op = row_[static_cast<std::size_t>(index)];
  Microbatch& microbatch = of(op);
  if (op.pass == Pass::forward) return forwards_.at(index) && ready_forward(microbatch);
  if (gives_weight_gradient(op.pass) && !weights_.at(index)) return false;
  if (op.pass == Pass::backward_weight) return microbatch.gradient_done;
  if (!gradients_.at(index) || !microbatch.forward_done) return false;
  if (!neighbours_.downstream) return true;
  post_receives();
  return microbatch.d_output.transfer && poll(microbatch.d_output);
}

bool ScheduleExecutor::ready_forward(Microbatch& microbatch) {
  if (neighbours_.upstream) {
    post_receives();
    if (!microbatch.input.transfer || !poll(microbatch.input)) return false;
  } else if (microbatch.slot < 0 && !take_slot(microbatch)) {
    return false;
  }
  const Slot& slot = slots_[static_cast<std::size_t>(microbatch.slot)];
  return !slot.output_reader || poll(*slot.output_reader);
}

template <class Ready>
bool ScheduleExecutor::wait_until(Ready is_ready, double seconds) {
  const Deadline deadline = Deadline::after_s(seconds);
  kernels::Backoff backoff;
  while (!is_ready()) {
    if (deadline.expired()) return is_ready();
    if (signalled_)
      signal_.wait_until(is_ready, Deadline::after_s(std::min(kGlance_s, seconds)));
    else
      backoff.pause();
  }
  return true;
}

// The deadline is over. What the op lacks ends the run in the words of its link, unless the link finds another way (then
// it is here on return).
void ScheduleExecutor::press(const Op& entry) {
  Microbatch& microbatch = of(entry.op);
  std::vector<Flight*> missing = {&microbatch.input, &microbatch.d_output, &microbatch.output};
  for (const Slot& slot : slots_)
    if (slot.input_reader) missing.push_back(slot.input_reader);
  for (Flight* flight : missing)
    if (flight->transfer && !flight->complete) flight->transfer->wait(Deadline::after_s(0));
  post_receives();
  for (Flight* flight : {&microbatch.input, &microbatch.d_output})
    if (flight->transfer && !flight->complete) flight->transfer->wait(Deadline::after_s(options_.deadline_s));
  if (!ready(static_cast<int>(&entry - ops_.data())))
    throw kernels::Error(kernels::Scope::operation, "the pipeline schedule waits for ever at " +
                                                        to_string(entry.op) + ": no slot is free");
}

bool ScheduleExecutor::poll(Flight& flight) {
  if (!flight.transfer || flight.complete) return true;
  if (!flight.transfer->done()) {
    flight.missed = true;
    return false;
  }
  const comm::TransferTiming timing = flight.transfer->timing();
  flight.complete = true;
  flight.record.end_s = timing.arrived_s.value_or(kernels::steady_now_s());
  flight.record.started_s = timing.started_s;
  flight.record.prompt = timing.arrived_s.has_value() || flight.missed;
  return true;
}

void ScheduleExecutor::settle(Flight& flight) {
  if (poll(flight)) return;
  flight.transfer->wait(Deadline::after_s(options_.deadline_s));
  poll(flight);
}

void ScheduleExecutor::execute(Op& entry, const model::GradientsReady& ready) {
  Microbatch& microbatch = of(entry.op);
  const PipelineOp& op = entry.op;
  Flight& received = op.pass == Pass::forward ? microbatch.input : microbatch.d_output;
  if (op.pass != Pass::backward_weight && received.transfer)
    received.transfer->order_before(stage_.stream(), Deadline::after_s(options_.deadline_s));
  // What is found complete from now on may have arrived while this op ran.
  for (Microbatch& other : microbatches_) other.input.missed = other.d_output.missed = false;
  stage_.stream().record(*entry.begin);
  compute(entry, microbatch, ready);
  stage_.stream().record(*entry.end);
  entry.done = true;
  executed_.push_back(static_cast<int>(&entry - ops_.data()));
  if (op.pass == Pass::forward) send(microbatch.output, TransferKind::send_activation, op);
  if (gives_input_gradient(op.pass)) send(microbatch.d_input, TransferKind::send_gradient, op);
  if (forward_only_ || gives_weight_gradient(op.pass)) release(microbatch);
}

void ScheduleExecutor::compute(const Op& entry, Microbatch& microbatch, const model::GradientsReady& ready) {
  const PipelineOp& op = entry.op;
  if (op.pass == Pass::forward) {
    stage_.forward(microbatch.slot, op.microbatch);
    microbatch.forward_done = true;
    ++forwards_.next;
  }
  if (gives_input_gradient(op.pass)) {
    stage_.backward_input(microbatch.slot);
    microbatch.gradient_done = true;
    ++gradients_.next;
  }
  if (!gives_weight_gradient(op.pass)) return;
  const bool first = weights_.next == 0, last = weights_.next + 1 == weights_.ops.size();
  // The first microbatch's weight gradients overwrite: nobody has to zero them.
  stage_.backward_weight(microbatch.slot, !first, last ? ready : model::GradientsReady{});
  ++weights_.next;
}

void ScheduleExecutor::send(Flight& flight, TransferKind kind, const PipelineOp& op) {
  const bool activation = kind == TransferKind::send_activation;
  comm::Link* link = activation ? neighbours_.downstream : neighbours_.upstream;
  if (!link) return;
  const int slot = of(op).slot;
  const Tensor memory = activation ? stage_.output(slot) : stage_.input(slot);
  flight.record = {kind, op.microbatch, memory.bytes(), kernels::steady_now_s(), 0, {}, false};
  flight.transfer = link->send(stage_.stream(), memory, tag_of(kind, op.microbatch));
}

void ScheduleExecutor::receive(Flight& flight, TransferKind kind, int microbatch, int slot) {
  const bool activation = kind == TransferKind::receive_activation;
  const Tensor memory = activation ? stage_.input(slot) : stage_.output(slot);
  comm::Link& link = activation ? *neighbours_.upstream : *neighbours_.downstream;
  flight.record = {kind, microbatch, memory.bytes(), kernels::steady_now_s(), 0, {}, false};
  flight.transfer = link.receive(stage_.stream(), memory, tag_of(kind, microbatch));
}

void ScheduleExecutor::release(Microbatch& microbatch) {
  Slot& slot = slots_[static_cast<std::size_t>(microbatch.slot)];
  slot.free = true;
  slot.input_reader = poll(microbatch.d_input) ? nullptr : &microbatch.d_input;
  slot.output_reader = poll(microbatch.output) ? nullptr : &microbatch.output;
}

void ScheduleExecutor::report(ScheduleObserver& observer) {
  for (const int index : executed_) {
    const Op& entry = ops_[static_cast<std::size_t>(index)];
    const Microbatch& microbatch = of(entry.op);
    entry.end->wait(Deadline::after_s(options_.deadline_s));
    const bool forward = entry.op.pass == Pass::forward, weight = entry.op.pass == Pass::backward_weight;
    const Flight& received = forward ? microbatch.input : microbatch.d_output;
    const Flight& sent = forward ? microbatch.output : microbatch.d_input;
    if (!weight && received.transfer) observer.on_transfer(received.record);
    observer.on_pass({entry.op, entry.begin->time_s(), entry.end->time_s()});
    if (!weight && sent.transfer) observer.on_transfer(sent.record);
  }
}

}  // namespace tenax::parallel
