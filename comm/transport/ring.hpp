// Ring: a stream of bytes from one process to another through memory that both have mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "comm/transport/futex_event.hpp"

namespace tenax::comm {

/// The shared part; zeros at first. The bytes follow it.
struct RingControl {
  alignas(64) std::atomic<std::uint64_t> written{0};  ///< bytes since the beginning
  alignas(64) std::atomic<std::uint64_t> read{0};
  FutexEvent data, space;
  alignas(64) std::atomic<std::uint32_t> closed{0};
  std::atomic<std::uint32_t> reader_polls{0}, writer_polls{0};  ///< that end sleeps until it is rung
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// One end of a ring. Thread rule: one thread writes (in one process), one reads (in the same or
/// another), any closes.
class Ring {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;  ///< stays in the processor's cache
  static constexpr std::size_t kMemory = sizeof(RingControl) + kCapacity;

  using Outcome = FutexEvent::Outcome;  ///< over: closed, or the other process is gone
  /// Asked now and then while waiting: is the other process still there?
  using Alive = std::function<bool()>;

  /// `memory`: kMemory bytes, aligned to 64.
  explicit Ring(std::byte* memory)
      : control_(*reinterpret_cast<RingControl*>(memory)), bytes_(memory + sizeof(RingControl)) {}

  Outcome write(std::span<const std::byte> bytes, kernels::Deadline deadline, const Alive& alive);
  /// Waits until that many bytes can be read; they can be even when the ring was closed after them.
  Outcome wait_for(std::size_t bytes, kernels::Deadline deadline, const Alive& alive);
  /// Some of the bytes may have been read when it does not end with `done`.
  Outcome read(std::span<std::byte> bytes, kernels::Deadline deadline, const Alive& alive);

  // For ends that do not wait here but poll, and ring the other awake in a way of their own:
  /// As many bytes as there is room for; 0 when it is full or damaged.
  std::size_t write_some(std::span<const std::byte> bytes);
  /// As many bytes as there are.
  std::size_t read_some(std::span<std::byte> bytes);
  /// This end is going to sleep until it is rung. False: there are bytes (or there is room) now, or
  /// the ring is closed.
  bool may_sleep_reading();
  bool may_sleep_writing();
  /// After writing or reading: whether the other end sleeps and is to be rung, once.
  bool is_reader_to_be_rung() {
    return control_.reader_polls.load() != 0 && control_.reader_polls.exchange(0) != 0;
  }
  bool is_writer_to_be_rung() {
    return control_.writer_polls.load() != 0 && control_.writer_polls.exchange(0) != 0;
  }

  /// No more is written; wakes both ends.
  void close() noexcept;
  bool is_closed() const { return control_.closed.load() != 0; }
  /// Whether the other end has counted what cannot be; the ring is closed then.
  bool is_damaged() const { return is_damaged_.load(); }

 private:
  std::size_t put(std::span<const std::byte> bytes);
  std::size_t get(std::span<std::byte> bytes);
  bool has_space();
  bool has(std::uint64_t bytes);
  bool is_possible(std::uint64_t filled);
  template <class Ready>
  Outcome wait_at(FutexEvent& event, const Ready& ready, kernels::Deadline deadline,
                  const Alive& alive) const;

  RingControl& control_;
  std::byte* bytes_;
  // What this end has counted itself. It does not read its own shared counter back: that is for the
  // other end, which could change it.
  std::uint64_t written_ = 0, read_ = 0;
  std::atomic<bool> is_damaged_{false};
};

}  // namespace tenax::comm
