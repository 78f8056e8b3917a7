// Streams and events of the emulated device: bookkeeping of logical times, without threads or queues.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/device.hpp"
#include "kernels/random.hpp"

namespace tenax::kernels {

/// Done when the clock has reached its mark. May be recorded in one thread and asked in others.
class EmulatedEvent final : public Event {
 public:
  bool done() const override;
  void wait(Deadline deadline) const override;
  double time_s() const override { return time_s_.load(std::memory_order_acquire); }
  void record_at(double time_s) { time_s_.store(time_s, std::memory_order_release); }

 private:
  std::atomic<double> time_s_{0};  ///< never recorded: long ago, so done
};

/// Knows when all that was enqueued on it will have ended; that time may lie ahead of the clock.
class EmulatedStream final : public Stream {
 public:
  /// `jitter`: this stream's own random numbers.
  explicit EmulatedStream(CounterRandom jitter);

  void record(Event& event) override;
  void wait(const Event& event) override { input_arrived(event.time_s()); }
  void input_arrived(double time_s) override;
  void synchronize(Deadline deadline) override;

  /// Enqueues an operation that the host is taken to have launched ahead: it starts when all before it has
  /// ended and its inputs have arrived, even where the host comes to say so later. Returns its end.
  double enqueue(double seconds);
  /// Enqueues an operation that a thread launches in answer to something. Where the stream was not told
  /// of an input since its last operation, that something was the launch itself: then it starts now at
  /// the earliest.
  double enqueue_in_answer(double seconds);

  /// Uniform in [-1, 1], a new one each call.
  double next_jitter() { return 2 * jitter_.uniform(draws_++) - 1; }

 private:
  double ready_s_;  ///< the next operation starts no earlier
  bool told_of_input_ = false;
  CounterRandom jitter_;
  std::uint64_t draws_ = 0;
};

}  // namespace tenax::kernels
