#include "parallel/execution/row_traffic.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/device.hpp"

namespace tenax::parallel {

using kernels::Deadline;
using kernels::Tensor;

namespace {

// One tag per (direction, microbatch); messages of one tag arrive in the order of the steps that sent them.
comm::Tag tag_of(TransferKind kind, int microbatch) {
  const bool gradient = kind == TransferKind::receive_gradient || kind == TransferKind::send_gradient;
  return 2 * microbatch + (gradient ? 1 : 0);
}

}  // namespace

RowTraffic::RowTraffic(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                       Order order, int slots, double deadline_s)
    : stage_(stage),
      neighbours_(neighbours),
      order_(std::move(order)),
      slot_count_(static_cast<std::size_t>(slots)),
      deadline_s_(deadline_s),
      device_(device) {
  assert(slots >= 1);
  const bool has_messages = neighbours.upstream || neighbours.downstream;
  if (device.is_asynchronous() && has_messages) idle_ = device.create_stream();
}

void RowTraffic::reset() {
  int microbatches = 0;
  for (const int m : order_.forwards) microbatches = std::max(microbatches, m + 1);
  open_.clear();
  microbatches_ = std::vector<Microbatch>(static_cast<std::size_t>(microbatches));
  slots_.assign(slot_count_, Slot{});
  next_input_ = next_gradient_ = 0;
}

void RowTraffic::post() {
  if (neighbours_.upstream) post_inputs();
  if (neighbours_.downstream) post_gradients();
}

// An F receives into its slot's input, of which the slot's last microbatch may still be sending the gradient.
void RowTraffic::post_inputs() {
  for (; next_input_ < order_.forwards.size(); ++next_input_) {
    const int m = order_.forwards[next_input_];
    if (!take_slot(of(m))) return;
    start(of(m).input, TransferKind::receive_activation, m);
  }
}

// A B receives into its slot's output, which its own F wrote and may still be sending. Never out of turn, also if a later
// slot is free first: links without tags (NCCL) match messages by their order.
void RowTraffic::post_gradients() {
  for (std::size_t i = next_gradient_; i < order_.gradients.size(); ++i) {
    const int m = order_.gradients[i];
    Microbatch& microbatch = of(m);
    if (microbatch.d_output.transfer) continue;
    if (!microbatch.forward_done || !poll(microbatch.output)) return;
    start(microbatch.d_output, TransferKind::receive_gradient, m);
  }
}

bool RowTraffic::take_slot(Microbatch& microbatch) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.free) continue;
    if (neighbours_.upstream && slot.last_use && !slot.last_use->done()) continue;
    if (slot.input_reader && !poll(*slot.input_reader)) continue;
    slot.free = false;
    slot.input_reader = nullptr;
    microbatch.slot = static_cast<int>(i);
    return true;
  }
  return false;
}

bool RowTraffic::ready_forward(int m, bool ahead) {
  Microbatch& microbatch = of(m);
  if (neighbours_.upstream) {
    post();
    if (!microbatch.input.transfer || !is_here(microbatch.input, ahead)) return false;
  } else if (microbatch.slot < 0 && !take_slot(microbatch)) {
    return false;
  }
  Slot& slot = slots_[static_cast<std::size_t>(microbatch.slot)];
  return !slot.output_reader || is_here(*slot.output_reader, idle_ != nullptr);
}

bool RowTraffic::ready_gradient(int m, bool ahead) {
  Microbatch& microbatch = of(m);
  if (!microbatch.forward_done) return false;
  if (!neighbours_.downstream) return true;
  post();
  return microbatch.d_output.transfer && is_here(microbatch.d_output, ahead);
}

void RowTraffic::begin_forward(int m) {
  Microbatch& microbatch = of(m);
  if (microbatch.input.transfer) order(microbatch.input);
  Flight*& reader = slots_[static_cast<std::size_t>(microbatch.slot)].output_reader;
  if (reader && !reader->complete) order(*reader);
  reader = nullptr;
}

void RowTraffic::begin_gradient(int m) {
  if (of(m).d_output.transfer) order(of(m).d_output);
}

void RowTraffic::end_forward(int m) {
  of(m).forward_done = true;
  if (neighbours_.downstream) start(of(m).output, TransferKind::send_activation, m);
}

void RowTraffic::end_gradient(int m) {
  of(m).gradient_done = true;
  ++next_gradient_;
  if (neighbours_.upstream) start(of(m).d_input, TransferKind::send_gradient, m);
}

void RowTraffic::release(int m, const kernels::Event& last) {
  Microbatch& microbatch = of(m);
  Slot& slot = slots_[static_cast<std::size_t>(microbatch.slot)];
  slot.free = true;
  slot.last_use = idle_ ? &last : nullptr;
  slot.input_reader = poll(microbatch.d_input) ? nullptr : &microbatch.d_input;
  slot.output_reader = poll(microbatch.output) ? nullptr : &microbatch.output;
}

void RowTraffic::clear_misses() {
  for (Microbatch& microbatch : microbatches_) microbatch.input.missed = microbatch.d_output.missed = false;
}

bool RowTraffic::poll(Flight& flight) {
  if (!flight.transfer || flight.complete) return true;
  const double looked_s = kernels::steady_now_s();
  if (!flight.transfer->done()) {
    flight.missed = true;
    flight.record.absent_s = looked_s;
    return false;
  }
  const comm::TransferTiming timing = flight.transfer->timing();
  flight.complete = true;
  flight.record.end_s = timing.arrived_s.value_or(kernels::steady_now_s());
  flight.record.started_s = timing.started_s;
  flight.record.prompt = timing.arrived_s.has_value() || flight.missed;
  if (timing.arrived_s || !flight.missed) flight.record.absent_s.reset();
  return true;
}

bool RowTraffic::is_here(Flight& flight, bool ahead) {
  return poll(flight) || (ahead && flight.transfer->orders_without_blocking());
}

void RowTraffic::order(Flight& flight) {
  flight.transfer->order_before(stage_.stream(), Deadline::after_s(deadline_s_));
}

bool RowTraffic::watch() {
  std::erase_if(open_, [this](Flight* flight) { return poll(*flight); });
  return open_.empty();
}

// A link whose transfers nothing waits for is not to blame.
std::vector<RowTraffic::Flight*> RowTraffic::missing(Microbatch& microbatch) {
  std::vector<Flight*> flights = {&microbatch.input,
                                  microbatch.d_output.transfer ? &microbatch.d_output : &microbatch.output};
  if (microbatch.slot < 0)
    for (const Slot& slot : slots_) flights.push_back(slot.input_reader);
  else if (!microbatch.forward_done)
    flights.push_back(slots_[static_cast<std::size_t>(microbatch.slot)].output_reader);
  std::erase_if(flights,
                [](const Flight* flight) { return !flight || !flight->transfer || flight->complete; });
  return flights;
}

void RowTraffic::demand(int m) {
  Microbatch& microbatch = of(m);
  for (Flight* flight : missing(microbatch)) flight->transfer->wait(Deadline::after_s(0));
  post();
  for (Flight* flight : {&microbatch.input, &microbatch.d_output})
    if (flight->transfer && !flight->complete) flight->transfer->wait(Deadline::after_s(deadline_s_));
}

void RowTraffic::settle() {
  for (Microbatch& microbatch : microbatches_) {
    settle(microbatch.output);
    settle(microbatch.d_input);
  }
  for (Flight* flight : open_) settle(*flight);
  open_.clear();
}

void RowTraffic::settle(Flight& flight) {
  if (poll(flight)) return;
  flight.transfer->wait(Deadline::after_s(deadline_s_));
  poll(flight);
}

// A send may be read until the device has got to it, which may wait for what was to be received.
void RowTraffic::cancel() noexcept {
  for (Microbatch& microbatch : microbatches_) {
    microbatch.input.transfer.reset();
    microbatch.d_output.transfer.reset();
  }
  for (Microbatch& microbatch : microbatches_) {
    microbatch.output.transfer.reset();
    microbatch.d_input.transfer.reset();
  }
  open_.clear();
}

void RowTraffic::start(Flight& flight, TransferKind kind, int m) {
  comm::Link& link = is_upstream(kind) ? *neighbours_.upstream : *neighbours_.downstream;
  const Tensor memory = is_upstream(kind) ? stage_.input(of(m).slot) : stage_.output(of(m).slot);
  flight.record = {.kind = kind,
                   .microbatch = m,
                   .bytes = memory.bytes(),
                   .begin_s = kernels::steady_now_s(),
                   .prompt = false};
  const kernels::Range range(device_, name_of(kind, m).c_str());
  flight.transfer = is_send(kind) ? link.send(stage_.stream(), memory, tag_of(kind, m))
                                  : link.receive(idle_ ? *idle_ : stage_.stream(), memory, tag_of(kind, m));
  open_.push_back(&flight);
}

const TransferRecord* RowTraffic::record_of(Pass pass, const Flight& forward, const Flight& backward) {
  if (pass == Pass::backward_weight) return nullptr;
  const Flight& flight = pass == Pass::forward ? forward : backward;
  return flight.transfer ? &flight.record : nullptr;
}

}  // namespace tenax::parallel
