#include "kernels/emulated_device.hpp"

#include <atomic>
#include <string>

#include "kernels/cpu/host_memory.hpp"
#include "kernels/deadline.hpp"
#include "kernels/emulated/emulated_kernels.hpp"
#include "kernels/emulated/emulated_stream.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"

namespace tenax::kernels {
namespace {

EmulatedStream& own(Stream& stream) {
  assert(dynamic_cast<EmulatedStream*>(&stream) && "a stream belongs to the device that made it");
  return static_cast<EmulatedStream&>(stream);
}

/// What is allocated of the device's memory, in bytes. Shared with the buffers, which may outlive the device.
using Allocated = std::atomic<std::size_t>;

/// A size, and its place in the device's account.
class EmulatedBuffer final : public Buffer {
 public:
  EmulatedBuffer(std::size_t bytes, std::shared_ptr<Allocated> allocated)
      : bytes_(bytes), allocated_(std::move(allocated)) {}
  ~EmulatedBuffer() override { *allocated_ -= bytes_; }
  EmulatedBuffer(const EmulatedBuffer&) = delete;
  EmulatedBuffer& operator=(const EmulatedBuffer&) = delete;
  void* data() const override { return nullptr; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  std::shared_ptr<Allocated> allocated_;
};

class SleepingDevice final : public EmulatedDevice {
 public:
  explicit SleepingDevice(const EmulatedOptions& options)
      : options_(options),
        kernels_(options.copy_s, [this](Stream& stream) { probe(stream); }),
        host_memory_bytes_(usable_memory_bytes()),
        allocated_(std::make_shared<Allocated>(0)) {
    assert(options.jitter_percent >= 0 && options.jitter_percent <= 100 && options.copy_s >= 0);
  }

  DeviceKind kind() const override { return DeviceKind::emulated; }
  std::string name() const override { return "emulated (operations sleep)"; }
  std::size_t memory_bytes() const override { return options_.memory_bytes; }
  bool has_data() const override { return false; }
  bool is_host_memory() const override { return false; }

  std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    if (kind == MemoryKind::pinned_host) return allocate_host_memory(bytes, host_memory_bytes_);
    const std::size_t before = allocated_->fetch_add(bytes);
    auto buffer = std::make_unique<EmulatedBuffer>(bytes, allocated_);  // takes its bytes back if we throw
    if (before > memory_bytes() || bytes > memory_bytes() - before)
      throw Error(Scope::rank, "cannot allocate " + std::to_string(bytes) +
                                   " bytes on the emulated device: " + std::to_string(before) + " of its " +
                                   std::to_string(memory_bytes()) +
                                   " are taken; use more ranks, or a smaller model or batch");
    return buffer;
  }
  std::unique_ptr<Stream> create_stream() override {
    const std::string name = "jitter of stream " + std::to_string(streams_++);
    return std::make_unique<EmulatedStream>(CounterRandom(options_.seed, name));
  }
  std::unique_ptr<Event> create_event() override { return std::make_unique<EmulatedEvent>(); }
  Kernels& kernels() override { return kernels_; }

  void occupy(Stream& stream, double seconds) override {
    sleep_until_s(own(stream).enqueue(jittered(stream, seconds)));
  }
  void host_blocked(Stream& stream) override { stream.input_arrived(steady_now_s()); }

 private:
  double jittered(Stream& stream, double seconds) const {
    return seconds * (1 + options_.jitter_percent / 100 * own(stream).next_jitter());
  }
  void probe(Stream& stream) {
    if (options_.probe_s > 0)
      sleep_until_s(own(stream).enqueue_in_answer(jittered(stream, options_.probe_s)));
  }

  EmulatedOptions options_;
  EmulatedKernels kernels_;
  std::size_t host_memory_bytes_;
  std::shared_ptr<Allocated> allocated_;
  std::atomic<int> streams_{0};
};

}  // namespace

std::unique_ptr<EmulatedDevice> create_emulated_device(const EmulatedOptions& options) {
  return std::make_unique<SleepingDevice>(options);
}

}  // namespace tenax::kernels
