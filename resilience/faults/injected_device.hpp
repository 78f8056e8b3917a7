// InjectedDevice, InjectedEmulatedDevice: devices whose operations take as long as ComputeFaults say.
#pragma once

#include <memory>
#include <string>

#include "kernels/emulated_device.hpp"
#include "resilience/faults/injected_kernels.hpp"

namespace tenax::resilience {

/// A device, or `Interface`, that is another one but for its kernels.
template <class Interface>
class ForwardingDevice : public Interface {
 public:
  explicit ForwardingDevice(std::unique_ptr<Interface> inner) : inner_(std::move(inner)) {}

  kernels::DeviceKind kind() const override { return inner_->kind(); }
  std::string name() const override { return inner_->name(); }
  std::size_t memory_bytes() const override { return inner_->memory_bytes(); }
  bool has_data() const override { return inner_->has_data(); }
  bool is_host_memory() const override { return inner_->is_host_memory(); }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes, kernels::MemoryKind kind) override {
    return inner_->allocate(bytes, kind);
  }
  std::unique_ptr<kernels::Stream> create_stream() override { return inner_->create_stream(); }
  std::unique_ptr<kernels::Event> create_event() override { return inner_->create_event(); }
  bool is_asynchronous() const override { return inner_->is_asynchronous(); }
  bool can_capture() const override { return inner_->can_capture(); }
  std::unique_ptr<kernels::Flag> create_flag() override { return inner_->create_flag(); }
  std::string bus_id() const override { return inner_->bus_id(); }
  std::unique_ptr<kernels::HostRegistration> register_host(std::shared_ptr<std::byte> memory,
                                                           std::size_t bytes) override {
    return inner_->register_host(std::move(memory), bytes);
  }
  std::size_t scratch_bytes(const kernels::StepShape& shape) const override {
    return inner_->scratch_bytes(shape);
  }
  void push_range(const char* name) override { inner_->push_range(name); }
  void pop_range() override { inner_->pop_range(); }

 protected:
  Interface& inner() { return *inner_; }

 private:
  const std::unique_ptr<Interface> inner_;
};

class InjectedDevice final : public ForwardingDevice<kernels::Device> {
 public:
  /// `faults` must outlive it.
  InjectedDevice(std::unique_ptr<kernels::Device> inner, const ComputeFaults& faults);
  kernels::Kernels& kernels() override { return kernels_; }

 private:
  InjectedKernels kernels_;
};

class InjectedEmulatedDevice final : public ForwardingDevice<kernels::EmulatedDevice> {
 public:
  /// `faults` must outlive it.
  InjectedEmulatedDevice(std::unique_ptr<kernels::EmulatedDevice> inner, const ComputeFaults& faults);
  kernels::Kernels& kernels() override { return kernels_; }
  void occupy(kernels::Stream& stream, double seconds) override;
  void host_blocked(kernels::Stream& stream) override { inner().host_blocked(stream); }

 private:
  const ComputeFaults& faults_;
  InjectedKernels kernels_;
};

}  // namespace tenax::resilience
