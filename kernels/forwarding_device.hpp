// ForwardingDevice: what wraps a device does all as that one does, but for what it overrides.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kernels/device.hpp"

namespace tenax::kernels {

/// `Interface`: Device, or a device that can do more. kernels() is left to the derived class.
template <class Interface>
class ForwardingDevice : public Interface {
 public:
  explicit ForwardingDevice(std::unique_ptr<Interface> inner) : inner_(std::move(inner)) {}

  DeviceKind kind() const override { return inner_->kind(); }
  std::string name() const override { return inner_->name(); }
  std::size_t memory_bytes() const override { return inner_->memory_bytes(); }
  bool has_data() const override { return inner_->has_data(); }
  bool is_host_memory() const override { return inner_->is_host_memory(); }
  std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    return inner_->allocate(bytes, kind);
  }
  std::unique_ptr<Stream> create_stream() override { return inner_->create_stream(); }
  std::unique_ptr<Event> create_event() override { return inner_->create_event(); }
  int threads() const override { return inner_->threads(); }
  bool is_asynchronous() const override { return inner_->is_asynchronous(); }
  bool can_capture() const override { return inner_->can_capture(); }
  std::unique_ptr<Flag> create_flag() override { return inner_->create_flag(); }
  std::string bus_id() const override { return inner_->bus_id(); }
  std::string memory_id() const override { return inner_->memory_id(); }
  std::size_t total_bytes() const override { return inner_->total_bytes(); }
  std::optional<DeviceReading> reading() override { return inner_->reading(); }
  std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory,
                                                  std::size_t bytes) override {
    return inner_->register_host(std::move(memory), bytes);
  }
  void reclaim_memory() override { inner_->reclaim_memory(); }
  int export_memory(const Buffer& buffer) override { return inner_->export_memory(buffer); }
  std::size_t scratch_bytes(const StepShape& shape) const override { return inner_->scratch_bytes(shape); }
  void settle() override { inner_->settle(); }
  std::string choices() const override { return inner_->choices(); }
  void choose_as(const std::string& choices) override { inner_->choose_as(choices); }
  std::vector<std::string> notes() const override { return inner_->notes(); }
  void lend_multiprocessors(int count) override { inner_->lend_multiprocessors(count); }
  int lent_multiprocessors() const override { return inner_->lent_multiprocessors(); }
  void push_range(const char* name) override { inner_->push_range(name); }
  void pop_range() override { inner_->pop_range(); }

 protected:
  Interface& inner() { return *inner_; }

 private:
  const std::unique_ptr<Interface> inner_;
};

}  // namespace tenax::kernels
