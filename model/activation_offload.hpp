// ActivationOffload: a stage with more slots than fit into the device's memory. The contents of
// those that are needed last wait in pinned host memory; they leave and come back on streams of
// their own while passes run.
#pragma once

#include <memory>
#include <vector>

#include "model/pipeline_stage.hpp"

namespace tenax::model {

/// Every slot has boundary tensors in device memory, since messages go from and to them at any
/// time. What is between them lies in a *body*, one of the stage's own slots, or waits on the host.
///
/// After each pass the next two are looked at: a forward pass gets a free body, a backward pass
/// gets its contents fetched. The body that is needed last has to leave (Belady). A pass that comes
/// out of the planned order finds its activations too, only later. No call waits for the device.
///
/// Two bodies suffice; three let copies run while passes do. Thread rule: PipelineStage's.
class ActivationOffload final : public PipelineStage {
 public:
  /// `stage` has `bodies` slots, and is used through this object alone; it and `device` must
  /// outlive it. Takes 2 boundary tensors a slot of device memory, and of pinned memory a body's
  /// contents for each slot that is away at a time.
  ActivationOffload(OffloadableStage& stage, kernels::Device& device, int slots, int bodies);
  ~ActivationOffload() override;
  ActivationOffload(const ActivationOffload&) = delete;
  ActivationOffload& operator=(const ActivationOffload&) = delete;

  /// Before each run of a row: the microbatch of each of its passes, in the order planned.
  /// Nothing is live.
  void begin(std::vector<int> row);

  kernels::Stream& stream() override { return stage_.stream(); }
  kernels::Tensor input(int slot) override { return at(slot).input; }
  kernels::Tensor output(int slot) override { return at(slot).output; }
  void forward(int slot, int microbatch, ForwardGradients gradients) override;
  void backward_input(int slot) override;
  void backward_weight(int slot, bool accumulate, const GradientsReady& ready) override;
  void backward(int slot, bool accumulate, const GradientsReady& ready) override;

 private:
  /// Contents on the host.
  struct Store {
    std::unique_ptr<kernels::Buffer> memory;
    std::unique_ptr<kernels::Event> written, read;
  };
  struct Slot {
    kernels::Tensor input, output;
    int microbatch = -1;
    int body = -1;                 // -1: none
    std::unique_ptr<Store> store;  // while away
  };
  struct Body {
    bool free = true;
    std::unique_ptr<kernels::Event> used, left, arrived;  // last pass, copy out, copy in
  };

  void begin_pass(int slot);
  void end_pass(int slot);
  void begin_backward(int slot);
  void end_backward(int slot);
  void prepare(int current);
  int take_body(int current);
  void evict(int slot);
  void fetch(int slot, int body);
  int last_needed(int current) const;
  std::size_t next_use(int microbatch) const;
  bool is_soon(int microbatch) const { return next_use(microbatch) <= position_ + kLook; }
  int slot_of(int microbatch) const;
  std::unique_ptr<Store> take_store();
  kernels::Tensor view(const Store& store) const;
  void copy(const kernels::Tensor& from, const kernels::Tensor& to);
  Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  Body& body_of(int slot) { return bodies_[static_cast<std::size_t>(at(slot).body)]; }

  static constexpr std::size_t kLook = 2;  // how many passes ahead bodies are prepared

  OffloadableStage& stage_;
  kernels::Device& device_;
  std::vector<int> row_;
  std::vector<char> passed_;  // aligned with row_
  std::size_t position_ = 0;  // the first of row_ that has not been launched
  std::unique_ptr<kernels::Buffer> boundaries_;
  std::vector<Slot> slots_;
  std::vector<Body> bodies_;
  std::vector<std::unique_ptr<Store>> spare_;
  std::unique_ptr<kernels::Stream> out_, in_;
};

}  // namespace tenax::model
