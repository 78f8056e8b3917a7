// The asynchronous device interface: memory, in-order streams, events, and the operations
// (kernels.hpp).
//
// Thread rule: a Device may be used from several threads; a Stream belongs to one thread at a time.
//
// On the CPU an operation runs in the calling thread before the call returns, so its streams are
// always idle. On an asynchronous device (CUDA) the call only enqueues, and whoever reuses memory,
// or reads it on the host, orders that by events.
//
// Pure functions are what every device has. The others are optional: the comment of each names its
// fallback, or the question (is_asynchronous, can_capture) that has to be answered by true before
// it may be called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/deadline.hpp"
#include "kernels/device_reading.hpp"
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

/// A counter in pinned host memory that streams and host threads set and wait for: so a stream
/// waits for what the network brings without the thread that launched it (CUDA:
/// cuStreamWaitValue32, cuStreamWriteValue32). Asynchronous devices only. Values only grow, round
/// at 2^32; a stream that waits for `v` goes on up to 2^31 - 1 past it.
class Flag {
 public:
  virtual ~Flag() = default;
  /// Thread rule: any thread. Whoever reads `v` here sees all that was written before the flag
  /// was set to `v`.
  virtual std::uint32_t value() const = 0;
  virtual void set(std::uint32_t value) = 0;
};

/// Operations that were captured instead of run, to be launched together (a CUDA graph).
class Graph {
 public:
  virtual ~Graph() = default;
};

/// An in-order queue of operations.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void record(Event& event) = 0;
  /// Later operations of this stream start after `event` is done; the calling thread
  /// does not block.
  virtual void wait(const Event& event) = 0;
  /// Blocks the calling thread until the stream is empty. Throws Error(rank) on expiry.
  virtual void synchronize(Deadline deadline) = 0;

  /// Optional, for devices that emulate time: later operations have an input that arrived at
  /// `time_s` (steady clock), and start no earlier. Does nothing elsewhere: the order of calls
  /// says it all.
  virtual void input_arrived(double time_s) { static_cast<void>(time_s); }
  /// Optional: how many threads of the host an operation uses, the caller's included, told before the
  /// first operation; one without it. Results do not depend on it. The others end with the stream.
  virtual void use_threads(int threads) { static_cast<void>(threads); }
  /// Optional: the library's own handle (cudaStream_t), for libraries that enqueue work themselves
  /// (NCCL); else null.
  virtual void* native_handle() { return nullptr; }
  /// Optional: takes the scratch memory that operations of this stream need between their own
  /// kernels (Device::scratch_bytes), before the first step, so that it never grows later. Does
  /// nothing where operations need none. Throws Error(rank) when the device is full.
  virtual void reserve_scratch(std::size_t bytes) { static_cast<void>(bytes); }

  /// Only where Device::is_asynchronous(): sets `flag` once the stream gets there / later
  /// operations start once flag.value() ≥ value. The flag must outlive both.
  virtual void set(Flag& flag, std::uint32_t value);
  virtual void wait(const Flag& flag, std::uint32_t value);
  /// Only where Device::can_capture(): what is enqueued between the two calls, here and on streams
  /// that wait for this one, becomes a graph instead of running. Nothing in between may look at
  /// events or wait on the host.
  virtual void begin_capture();
  virtual std::unique_ptr<Graph> end_capture();
  virtual void launch(Graph& graph);
};

/// Memory with an owner. Aligned to at least 64 bytes; contents are zero after allocation. Streams may
/// still use it when its owner lets go of it: it is given back once they have passed what they were
/// given before (Device::reclaim_memory).
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() const = 0;
  virtual std::size_t bytes() const = 0;
  /// The whole buffer, or its part from `byte_offset`, as a tensor. Asserts that it fits.
  Tensor tensor(DType dtype, Shape shape, std::size_t byte_offset = 0) const;
};

/// The sizes of a rank's operations on one microbatch, as far as their scratch memory
/// depends on them.
struct StepShape {
  DType compute = DType::f32;
  std::int64_t sequences = 0, length = 0, hidden_size = 0;
  int heads = 0;  ///< on this rank
  std::int64_t head_size = 0;
  bool has_embedding = false;
  bool overwrites_qkv = true;  ///< attention's gradient takes the memory of its input
};

enum class MemoryKind { device, pinned_host };

/// While it lives, a device's streams reach some host memory that somebody else allocated.
class HostRegistration {
 public:
  virtual ~HostRegistration() = default;
};

enum class DeviceKind { cpu, cuda, emulated };

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;  ///< for people, e.g. "cpu (AMD EPYC, AVX-512)"
  virtual std::size_t memory_bytes() const = 0;
  /// False where operations take time but touch no data (the emulated device): then nothing may
  /// be read back.
  virtual bool has_data() const = 0;
  /// True where device pointers can be dereferenced by the host.
  virtual bool is_host_memory() const = 0;
  /// Throws Error(rank) naming the bytes asked for when there is no such memory.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind = MemoryKind::device) = 0;
  virtual std::unique_ptr<Stream> create_stream() = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual Kernels& kernels() = 0;
  /// How many threads a stream that computes is to use (Stream::use_threads); one that only moves data
  /// uses its caller's.
  virtual int threads() const { return 1; }

  /// True where operations run after the call that enqueued them has returned: then
  /// there are flags.
  virtual bool is_asynchronous() const { return false; }
  /// True where streams capture graphs.
  virtual bool can_capture() const { return false; }
  /// Only where is_asynchronous(). Starts at 0.
  virtual std::unique_ptr<Flag> create_flag();

  /// Optional: what tells one physical device of a host from another ("0000:3b:00.0"); empty where
  /// ranks cannot share one.
  virtual std::string bus_id() const { return {}; }
  /// Optional: what tells the memory of one device of a host from another's. Slices of one physical device
  /// have memory of their own.
  virtual std::string memory_id() const { return bus_id(); }
  /// Optional: what memory it has in all, also what is taken: the same in every run.
  virtual std::size_t total_bytes() const { return memory_bytes(); }
  /// Optional: what it tells of itself at this moment; empty where it tells nothing. May take milliseconds, and the
  /// first call much longer, so a step's thread does not call it. Never throws. Thread rule: any thread, one at a time.
  virtual std::optional<DeviceReading> reading() { return std::nullopt; }
  /// Optional: lets streams copy to and from these whole pages as they do with pinned_host; another
  /// process may share them. Null where the device cannot: the caller then uses allocate(). When the
  /// registration is given up, `memory` is let go of as a Buffer's is.
  virtual std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory,
                                                          std::size_t bytes);
  /// Optional: gives back memory that owners have let go of and streams are through with. Never waits:
  /// where that takes an idle device and a stream is busy, the next call does it. Called once a step,
  /// when its passes are through; memory that no stream was using when it was let go of needs no such
  /// call.
  virtual void reclaim_memory() {}
  /// Optional: a descriptor of this device memory (dmabuf) by which other devices of the host reach it, from its
  /// first byte on; the caller's, who closes it. −1 where the device, its driver or the kernel cannot.
  virtual int export_memory(const Buffer& buffer) {
    static_cast<void>(buffer);
    return -1;
  }
  /// Optional: bytes of device memory that operations of these sizes need between their own
  /// kernels, for Stream::reserve_scratch(). Equal on all devices of a kind; 0 where they need none
  /// that counts.
  virtual std::size_t scratch_bytes(const StepShape& /*shape*/) const { return 0; }
  /// Optional: for operations that find out how they run best. What they choose (algorithms, fusions) is
  /// chosen when a shape is first met, by trials, until settle(), which is called after all shapes of a run
  /// were met once and before the run takes its memory. From then on nothing depends on a clock, nor on
  /// what memory is left, and memory_bytes() is what is free then.
  virtual void settle() {}
  /// Optional: what was chosen, as text; the same choices give the same bits. Empty where nothing is chosen.
  virtual std::string choices() const { return {}; }
  /// Optional, before the first operation: choose as an earlier run did, by its choices(). What cannot be
  /// kept is among notes().
  virtual void choose_as(const std::string& choices) { static_cast<void>(choices); }
  /// Optional: what operations do otherwise than one would expect, and why, in sentences for people.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Optional: kernels that wait for other ranks may hold `count` multiprocessors more (or fewer, where
  /// negative): until settle() matrix products are planned to do without.
  virtual void lend_multiprocessors(int count) { static_cast<void>(count); }
  /// Optional: how many are lent now.
  virtual int lent_multiprocessors() const { return 0; }
  /// Optional, for Range: does nothing where no profiler can show ranges.
  virtual void push_range(const char* name) { static_cast<void>(name); }
  virtual void pop_range() {}
};

/// A named range of a profiler's time line, with the names of trace.json ("F3", "B3", "W3", "send
/// activation 3"): names what the calling thread enqueues while this lives. Costs nothing where no
/// profiler runs. Thread rule: the thread that made it; ranges of a thread nest.
class Range {
 public:
  Range(Device& device, const char* name) : device_(device) { device_.push_range(name); }
  ~Range() { device_.pop_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Device& device_;
};

/// `threads`: Device::threads().
std::unique_ptr<Device> create_cpu_device(int threads = 1);

}  // namespace tenax::kernels
