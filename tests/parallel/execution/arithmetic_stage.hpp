// A pipeline stage with real arithmetic on whatever device: every result depends on the order of sums.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"
#include "model/pipeline_stage.hpp"

namespace tenax::parallel {

inline constexpr double kPatience_s = 60;  ///< for what happens unless something is broken

/// F: y = x + w; B: d_x = x + d_y; W: d_w += d_y + d_x. The first stage has an x per microbatch, the last keeps the y of each,
/// which is its own gradient.
class ArithmeticStage final : public model::OffloadableStage {
 public:
  static constexpr std::int64_t kCount = 3000;

  ArithmeticStage(kernels::Device& device, int stage, int stages, int slots, int microbatches)
      : device_(device), stage_(stage), stages_(stages), stream_(device.create_stream()) {
    weight_ = make(0.1F * static_cast<float>(stage + 1));
    d_weight_ = make(-1);
    for (int slot = 0; slot < slots; ++slot) {
      const kernels::Tensor all = make(-1, 4);
      const auto part = [&](int i) { return all.part(i * kCount, {kCount}); };
      slots_.push_back({all, part(0), part(1), part(2), part(3), -1});
    }
    for (int m = 0; m < microbatches; ++m) {
      batch_.push_back(make(1.0F / static_cast<float>(m + 3)));
      results_.push_back(make(-1));
    }
  }

  kernels::Stream& stream() override { return *stream_; }
  kernels::Tensor input(int slot) override { return stage_ == 0 ? kernels::Tensor{} : at(slot).input; }
  kernels::Tensor output(int slot) override { return is_last() ? kernels::Tensor{} : at(slot).output; }

  kernels::Tensor contents(int slot) override { return at(slot).all; }
  void adopt(int slot, int microbatch) override {
    at(slot).microbatch = microbatch;
    ++adopted_;
  }

  void forward(int slot, int microbatch, model::ForwardGradients) override {
    at(slot).microbatch = microbatch;
    const kernels::Tensor x = stage_ == 0 ? batch_[index(microbatch)] : at(slot).input;
    const kernels::Tensor y = is_last() ? results_[index(microbatch)] : at(slot).output;
    copy(x, at(slot).saved);
    copy(x, y);
    device_.kernels().add(*stream_, weight_, y);
    ++launched_;
  }
  void backward_input(int slot) override {
    const kernels::Tensor d_y = is_last() ? results_[index(at(slot).microbatch)] : at(slot).output;
    copy(d_y, at(slot).d_saved);
    copy(at(slot).saved, at(slot).input);
    device_.kernels().add(*stream_, d_y, at(slot).input);
    ++launched_;
  }
  void backward_weight(int slot, bool accumulate, const model::GradientsReady&) override {
    if (accumulate)
      device_.kernels().add(*stream_, at(slot).d_saved, d_weight_);
    else
      copy(at(slot).d_saved, d_weight_);
    device_.kernels().add(*stream_, at(slot).input, d_weight_);
  }

  /// F's and B's so far. From any thread.
  int launched() const { return launched_; }
  /// Contents that came back from the host.
  int adopted() const { return adopted_; }
  /// The weight's gradient, and the last stage's results. Waits for the device.
  std::vector<float> outcome() {
    std::vector<float> all = read(d_weight_);
    for (const kernels::Tensor& result : results_)
      if (is_last()) {
        const std::vector<float> values = read(result);
        all.insert(all.end(), values.begin(), values.end());
      }
    return all;
  }

 private:
  struct Slot {
    kernels::Tensor all, input, output, saved, d_saved;
    int microbatch;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool is_last() const { return stage_ + 1 == stages_; }
  Slot& at(int slot) { return slots_[index(slot)]; }
  void copy(const kernels::Tensor& from, const kernels::Tensor& to) {
    device_.kernels().copy(*stream_, from, to);
  }

  kernels::Tensor make(float value, int tensors = 1) {
    const std::int64_t count = tensors * kCount;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    memory_.push_back(device_.allocate(bytes));
    const kernels::Tensor tensor = memory_.back()->tensor(kernels::DType::f32, {count});
    const auto pinned = device_.allocate(bytes, kernels::MemoryKind::pinned_host);
    const kernels::Tensor host = pinned->tensor(kernels::DType::f32, {count});
    for (std::int64_t i = 0; i < count; ++i) host.as<float>()[i] = value * static_cast<float>(1 + i % 7);
    copy(host, tensor);
    stream_->synchronize(kernels::Deadline::after_s(60));
    return tensor;
  }
  std::vector<float> read(const kernels::Tensor& tensor) {
    const auto pinned = device_.allocate(kCount * sizeof(float), kernels::MemoryKind::pinned_host);
    const kernels::Tensor host = pinned->tensor(kernels::DType::f32, {kCount});
    copy(tensor, host);
    stream_->synchronize(kernels::Deadline::after_s(60));
    return {host.as<float>(), host.as<float>() + kCount};
  }

  kernels::Device& device_;
  int stage_, stages_;
  std::vector<std::unique_ptr<kernels::Buffer>> memory_;
  std::unique_ptr<kernels::Stream> stream_;
  kernels::Tensor weight_, d_weight_;
  std::vector<Slot> slots_;
  std::vector<kernels::Tensor> batch_, results_;
  std::atomic<int> launched_{0};
  int adopted_ = 0;
};

}  // namespace tenax::parallel
