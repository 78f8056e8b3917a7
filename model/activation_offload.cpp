// Streams: `out_` and `in_` copy, the stage's computes. A body is handed from one microbatch to the next by events alone:
// used (the last pass in it), left (its contents are copied out), arrived (new ones are copied in). Each wait is for what
// was enqueued before it.
#include "model/activation_offload.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/kernels.hpp"

namespace tenax::model {
namespace {

constexpr double kDeadline_s = 60;  // a device that takes longer to end its copies is broken

}  // namespace

ActivationOffload::ActivationOffload(OffloadableStage& stage, kernels::Device& device, int slots, int bodies)
    : stage_(stage),
      device_(device),
      slots_(static_cast<std::size_t>(slots)),
      bodies_(static_cast<std::size_t>(bodies)),
      out_(device.create_stream()),
      in_(device.create_stream()) {
  assert(bodies >= 2 && slots >= bodies);
  const kernels::Tensor input = stage.input(0), output = stage.output(0);
  const std::size_t input_bytes = input ? input.bytes() : 0, output_bytes = output ? output.bytes() : 0;
  boundaries_ = device.allocate(slots_.size() * (input_bytes + output_bytes));
  std::size_t offset = 0;
  for (Slot& slot : slots_) {
    if (input) slot.input = boundaries_->tensor(input.dtype, input.shape, offset);
    offset += input_bytes;
    if (output) slot.output = boundaries_->tensor(output.dtype, output.shape, offset);
    offset += output_bytes;
  }
  for (Body& body : bodies_)
    body = {true, device.create_event(), device.create_event(), device.create_event()};
}

// Copies under way use the stores and the stage's memory.
ActivationOffload::~ActivationOffload() {
  for (kernels::Stream* stream : {out_.get(), in_.get()}) try {
      stream->synchronize(kernels::Deadline::after_s(kDeadline_s));
    } catch (const std::exception&) {
      // Whoever waits for the device elsewhere hears of it.
    }
}

void ActivationOffload::begin(std::vector<int> row) {
  row_ = std::move(row);
  passed_.assign(row_.size(), 0);
  position_ = 0;
  for (Body& body : bodies_) body.free = true;
  for (Slot& slot : slots_) {
    slot.body = slot.microbatch = -1;
    if (slot.store) spare_.push_back(std::move(slot.store));
  }
}

void ActivationOffload::forward(int slot, int microbatch, ForwardGradients gradients) {
  at(slot).microbatch = microbatch;
  begin_pass(slot);
  if (at(slot).input) copy(at(slot).input, stage_.input(at(slot).body));
  stage_.forward(at(slot).body, microbatch, gradients);
  if (at(slot).output) copy(stage_.output(at(slot).body), at(slot).output);
  end_pass(slot);
}

void ActivationOffload::backward_input(int slot) {
  begin_backward(slot);
  stage_.backward_input(at(slot).body);
  end_backward(slot);
  end_pass(slot);
}

void ActivationOffload::backward_weight(int slot, bool accumulate, const GradientsReady& ready) {
  begin_pass(slot);
  stage_.backward_weight(at(slot).body, accumulate, ready);
  end_pass(slot);
}

void ActivationOffload::backward(int slot, bool accumulate, const GradientsReady& ready) {
  begin_backward(slot);
  stage_.backward(at(slot).body, accumulate, ready);
  end_backward(slot);
  end_pass(slot);
}

void ActivationOffload::begin_backward(int slot) {
  begin_pass(slot);
  if (at(slot).output) copy(at(slot).output, stage_.output(at(slot).body));
}

void ActivationOffload::end_backward(int slot) {
  if (at(slot).input) copy(stage_.input(at(slot).body), at(slot).input);
}

/// The slot has a body, and the stage's stream waits for its contents.
void ActivationOffload::begin_pass(int slot) {
  if (at(slot).body < 0) {
    const int body = take_body(slot);
    if (at(slot).store) {
      fetch(slot, body);
    } else {
      at(slot).body = body;
      bodies_[static_cast<std::size_t>(body)].free = false;
    }
  }
  stream().wait(*body_of(slot).left);
  stream().wait(*body_of(slot).arrived);
}

void ActivationOffload::end_pass(int slot) {
  Slot& current = at(slot);
  stream().record(*body_of(slot).used);
  for (std::size_t i = position_; i < row_.size(); ++i)
    if (passed_[i] == 0 && row_[i] == current.microbatch) {
      passed_[i] = 1;
      break;
    }
  while (position_ < row_.size() && passed_[position_] != 0) ++position_;
  if (next_use(current.microbatch) == row_.size()) {
    body_of(slot).free = true;
    current.body = current.microbatch = -1;
  }
  prepare(slot);
}

/// Of the passes to come: those that begin get a free body, those whose contents are away get them back.
void ActivationOffload::prepare(int current) {
  auto free = std::count_if(bodies_.begin(), bodies_.end(), [](const Body& body) { return body.free; });
  for (std::size_t i = position_; i < std::min(position_ + kLook, row_.size()); ++i) {
    if (passed_[i] != 0) continue;
    const int slot = slot_of(row_[i]);
    if (slot >= 0 && at(slot).body >= 0) continue;
    if (free == 0) {
      const int victim = last_needed(current);
      if (victim < 0 || is_soon(at(victim).microbatch)) return;
      evict(victim);
      ++free;
    }
    --free;
    if (slot >= 0) fetch(slot, take_body(slot));
  }
}

int ActivationOffload::take_body(int current) {
  for (;;) {
    const auto found =
        std::find_if(bodies_.begin(), bodies_.end(), [](const Body& body) { return body.free; });
    if (found != bodies_.end()) return static_cast<int>(found - bodies_.begin());
    evict(last_needed(current));
  }
}

/// Of the slots with a body, other than `current`; -1: none.
int ActivationOffload::last_needed(int current) const {
  int last = -1;
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    const auto use = [&](int s) { return next_use(slots_[static_cast<std::size_t>(s)].microbatch); };
    if (slot == current || slots_[static_cast<std::size_t>(slot)].body < 0) continue;
    if (last < 0 || use(slot) > use(last)) last = slot;
  }
  return last;
}

/// In row_; its size: never again.
std::size_t ActivationOffload::next_use(int microbatch) const {
  std::size_t i = position_;
  while (i < row_.size() && (passed_[i] != 0 || row_[i] != microbatch)) ++i;
  return i;
}

/// -1: its forward is still to come.
int ActivationOffload::slot_of(int microbatch) const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].microbatch == microbatch) return static_cast<int>(slot);
  return -1;
}

void ActivationOffload::evict(int slot) {
  assert(slot >= 0);
  Body& body = body_of(slot);
  Slot& leaving = at(slot);
  leaving.store = take_store();
  out_->wait(*body.used);
  out_->wait(*body.arrived);
  out_->wait(*leaving.store->read);
  device_.kernels().copy(*out_, stage_.contents(leaving.body), view(*leaving.store));
  out_->record(*leaving.store->written);
  out_->record(*body.left);
  body.free = true;
  leaving.body = -1;
}

void ActivationOffload::fetch(int slot, int index) {
  Slot& coming = at(slot);
  Body& body = bodies_[static_cast<std::size_t>(index)];
  in_->wait(*body.used);
  in_->wait(*body.left);
  in_->wait(*coming.store->written);
  device_.kernels().copy(*in_, view(*coming.store), stage_.contents(index));
  in_->record(*coming.store->read);
  in_->record(*body.arrived);
  spare_.push_back(std::move(coming.store));
  body.free = false;
  coming.body = index;
  stage_.adopt(index, coming.microbatch);
}

std::unique_ptr<ActivationOffload::Store> ActivationOffload::take_store() {
  if (spare_.empty())
    return std::make_unique<Store>(
        Store{device_.allocate(stage_.contents(0).bytes(), kernels::MemoryKind::pinned_host),
              device_.create_event(), device_.create_event()});
  std::unique_ptr<Store> store = std::move(spare_.front());
  spare_.erase(spare_.begin());
  return store;
}

kernels::Tensor ActivationOffload::view(const Store& store) const {
  const kernels::Tensor like = stage_.contents(0);
  return {store.memory->data(), like.dtype, like.shape};
}

void ActivationOffload::copy(const kernels::Tensor& from, const kernels::Tensor& to) {
  device_.kernels().copy(stream(), from, to);
}

}  // namespace tenax::model
