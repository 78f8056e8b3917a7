// A device that says of its memory what a GPU does: the host must not touch it. (It is the CPU's, so that tests can look.)
#pragma once

#include "kernels/kernels.hpp"

namespace tenax::comm {

class DeviceApart final : public kernels::Device {
 public:
  explicit DeviceApart(std::unique_ptr<kernels::Device> cpu) : cpu_(std::move(cpu)) {}
  kernels::DeviceKind kind() const override { return cpu_->kind(); }
  std::string name() const override { return "apart"; }
  std::size_t memory_bytes() const override { return cpu_->memory_bytes(); }
  bool has_data() const override { return true; }
  bool is_host_memory() const override { return false; }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes, kernels::MemoryKind kind) override {
    return cpu_->allocate(bytes, kind);
  }
  std::unique_ptr<kernels::Stream> create_stream() override { return cpu_->create_stream(); }
  std::unique_ptr<kernels::Event> create_event() override { return cpu_->create_event(); }
  kernels::Kernels& kernels() override { return cpu_->kernels(); }

 private:
  std::unique_ptr<kernels::Device> cpu_;
};

}  // namespace tenax::comm
