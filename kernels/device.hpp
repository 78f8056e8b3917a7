// The asynchronous device interface: memory, in-order streams, events and the operations (kernels.hpp).
//
// Thread rule: a Device may be used from several threads; a Stream belongs to one thread at a time. On the
// CPU back end an operation runs in the calling thread before the call returns, so its streams are always
// idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/deadline.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels {

class Kernels;

/// A mark in a stream's order. Recording again moves the mark.
class Event {
 public:
  virtual ~Event() = default;
  /// True once everything that preceded the mark has finished; true if never recorded.
  virtual bool done() const = 0;
  /// Blocks until done(). Throws Error(rank) on expiry.
  virtual void wait(Deadline deadline) const = 0;
  /// When the mark was passed, in seconds of std::chrono::steady_clock. Only once done().
  virtual double time_s() const = 0;
};

/// An in-order queue of operations.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void record(Event& event) = 0;
  /// Later operations of this stream start after `event` is done; the calling thread does not block.
  virtual void wait(const Event& event) = 0;
  /// Later operations of this stream have an input that arrived at `time_s` (steady clock) and start no earlier. For
  /// devices that emulate time; elsewhere the calling order says it all.
  virtual void input_arrived(double time_s) { static_cast<void>(time_s); }
  /// Blocks the calling thread until the stream is empty. Throws Error(rank) on expiry.
  virtual void synchronize(Deadline deadline) = 0;
};

/// Memory with an owner. Aligned to at least 64 bytes; contents are zero after allocation.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() const = 0;
  virtual std::size_t bytes() const = 0;
  /// The whole buffer, or its part from `byte_offset`, as a tensor. Asserts that it fits.
  Tensor tensor(DType dtype, Shape shape, std::size_t byte_offset = 0) const;
};

enum class MemoryKind { device, pinned_host };
enum class DeviceKind { cpu, cuda, emulated };

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;  ///< for people, e.g. "cpu (AMD EPYC, AVX-512)"
  virtual std::size_t memory_bytes() const = 0;
  /// False where operations take time but touch no data (the emulated device): then nothing may be read back.
  virtual bool has_data() const = 0;
  /// True where device pointers can be dereferenced by the host.
  virtual bool is_host_memory() const = 0;
  /// Throws Error(rank) naming the bytes asked for when there is no such memory.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind = MemoryKind::device) = 0;
  virtual std::unique_ptr<Stream> create_stream() = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual Kernels& kernels() = 0;
};

/// `index`: which of the host's devices; ignored by the CPU. A back end that was not compiled in throws
/// Error(rank) naming the CMake option.
std::unique_ptr<Device> create_cpu_device();
std::unique_ptr<Device> create_cuda_device(int index);

}  // namespace tenax::kernels
