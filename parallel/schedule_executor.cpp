#include "parallel/schedule_executor.hpp"

#include <chrono>

namespace tenax::parallel {

using kernels::Deadline;
using kernels::Tensor;

namespace {

double now_s() { return std::chrono::duration<double>(Deadline::Clock::now().time_since_epoch()).count(); }

// One tag per (direction, microbatch); messages of one tag arrive in the order of the steps that sent them.
comm::Tag tag_of(TransferKind kind, int microbatch) {
  const bool gradient = kind == TransferKind::receive_gradient || kind == TransferKind::send_gradient;
  return 2 * microbatch + (gradient ? 1 : 0);
}

}  // namespace

ScheduleExecutor::ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device,
                                   PipelineNeighbours neighbours, std::vector<PipelineOp> ops,
                                   std::vector<int> slot_of_op, double deadline_s)
    : stage_(stage), device_(device), neighbours_(neighbours), deadline_s_(deadline_s) {
  assert(ops.size() == slot_of_op.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op entry;
    entry.op = ops[i];
    entry.slot = slot_of_op[i];
    entry.begin = device.create_event();
    entry.end = device.create_event();
    ops_.push_back(std::move(entry));
    if (!gives_weight_gradient(ops[i].pass)) continue;
    if (first_weight_ < 0) first_weight_ = static_cast<int>(i);
    last_weight_ = static_cast<int>(i);
  }
  plan_memory_reuse();
}

bool ScheduleExecutor::receives(const Op& entry) const {
  if (entry.op.pass == Pass::forward) return neighbours_.upstream != nullptr;
  return gives_input_gradient(entry.op.pass) && neighbours_.downstream != nullptr;
}

// An F receives into its slot's input, which the slot's last user may still compute on or send d_in from, and computes
// into its output, which the last F there may still send (evaluation). A B receives into its slot's output, which its
// own F wrote and may still be sending.
void ScheduleExecutor::plan_memory_reuse() {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    Op& entry = ops_[i];
    const bool forward = entry.op.pass == Pass::forward;
    for (std::size_t j = i; j-- > 0;) {
      const Op& earlier = ops_[j];
      if (earlier.slot != entry.slot) continue;
      if (entry.memory_free_after < 0) entry.memory_free_after = static_cast<int>(j);
      const bool earlier_forward = earlier.op.pass == Pass::forward;
      if (forward && gives_input_gradient(earlier.op.pass)) entry.input_send = static_cast<int>(j);
      if (earlier_forward) entry.output_send = static_cast<int>(j);
      if (earlier_forward) break;
    }
  }
}

void ScheduleExecutor::run(const model::GradientsReady& ready, const std::function<void()>& progress,
                           ScheduleObserver* observer) {
  for (Op& entry : ops_) {
    entry.receive = Flight{};
    entry.send = Flight{};
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    Op& entry = ops_[i];
    post_receives(static_cast<int>(i));
    if (receives(entry)) finish_receive(entry);
    stage_.stream().record(*entry.begin);
    compute(entry, static_cast<int>(i) == last_weight_ ? ready : model::GradientsReady{});
    stage_.stream().record(*entry.end);
    send_result(entry);
    if (progress) progress();
  }
  for (Op& entry : ops_) settle(entry.send);
  if (observer) report(*observer);
}

// Posts every receive whose memory is free once the ops before `next` have run.
void ScheduleExecutor::post_receives(int next) {
  for (std::size_t i = static_cast<std::size_t>(next); i < ops_.size(); ++i) {
    Op& entry = ops_[i];
    if (!receives(entry) || entry.receive.transfer || entry.memory_free_after >= next) continue;
    const int reused = entry.op.pass == Pass::forward ? entry.input_send : entry.output_send;
    if (reused >= 0 && !poll(ops_[static_cast<std::size_t>(reused)].send)) continue;
    post_receive(entry);
  }
}

void ScheduleExecutor::post_receive(Op& entry) {
  const bool forward = entry.op.pass == Pass::forward;
  const Tensor memory = forward ? stage_.input(entry.slot) : stage_.output(entry.slot);
  const TransferKind kind = forward ? TransferKind::receive_activation : TransferKind::receive_gradient;
  comm::Link& link = forward ? *neighbours_.upstream : *neighbours_.downstream;
  entry.receive.record = {kind, entry.op.microbatch, memory.bytes(), now_s(), 0};
  entry.receive.transfer = link.receive(stage_.stream(), memory, tag_of(kind, entry.op.microbatch));
}

void ScheduleExecutor::finish_receive(Op& entry) {
  if (!entry.receive.transfer) {
    settle(
        ops_[static_cast<std::size_t>(entry.op.pass == Pass::forward ? entry.input_send : entry.output_send)]
            .send);
    post_receive(entry);
  }
  entry.receive.transfer->order_before(stage_.stream(), Deadline::after_s(deadline_s_));
  if (!entry.receive.complete) entry.receive.record.end_s = now_s();
  entry.receive.complete = true;
}

void ScheduleExecutor::compute(Op& entry, const model::GradientsReady& ready) {
  const int index = static_cast<int>(&entry - ops_.data());
  if (entry.op.pass == Pass::forward) {
    if (entry.output_send >= 0) settle(ops_[static_cast<std::size_t>(entry.output_send)].send);
    stage_.forward(entry.slot, entry.op.microbatch);
  }
  if (gives_input_gradient(entry.op.pass)) stage_.backward_input(entry.slot);
  // The first microbatch's weight gradients overwrite: nobody has to zero them.
  if (gives_weight_gradient(entry.op.pass)) {
    if (entry.op.pass == Pass::backward) send_result(entry);  // the neighbour need not wait for W
    stage_.backward_weight(entry.slot, index != first_weight_, ready);
  }
}

void ScheduleExecutor::send_result(Op& entry) {
  if (entry.send.transfer || entry.op.pass == Pass::backward_weight) return;
  const bool forward = entry.op.pass == Pass::forward;
  comm::Link* link = forward ? neighbours_.downstream : neighbours_.upstream;
  if (!link) return;
  const Tensor memory = forward ? stage_.output(entry.slot) : stage_.input(entry.slot);
  const TransferKind kind = forward ? TransferKind::send_activation : TransferKind::send_gradient;
  entry.send.record = {kind, entry.op.microbatch, memory.bytes(), now_s(), 0};
  entry.send.transfer = link->send(stage_.stream(), memory, tag_of(kind, entry.op.microbatch));
}

bool ScheduleExecutor::poll(Flight& flight) {
  if (!flight.transfer || flight.complete) return true;
  if (!flight.transfer->done()) return false;
  flight.complete = true;
  flight.record.end_s = now_s();
  return true;
}

void ScheduleExecutor::settle(Flight& flight) {
  if (poll(flight)) return;
  flight.transfer->wait(Deadline::after_s(deadline_s_));
  flight.complete = true;
  flight.record.end_s = now_s();
}

void ScheduleExecutor::report(ScheduleObserver& observer) const {
  for (const Op& entry : ops_) {
    entry.end->wait(Deadline::after_s(deadline_s_));
    if (entry.receive.transfer) observer.on_transfer(entry.receive.record);
    observer.on_pass({entry.op, entry.begin->time_s(), entry.end->time_s()});
    if (entry.send.transfer) observer.on_transfer(entry.send.record);
  }
}

}  // namespace tenax::parallel
