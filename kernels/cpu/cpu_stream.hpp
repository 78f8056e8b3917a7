// Streams and events of the CPU back end: everything has happened when the call returns.
#pragma once

#include <atomic>
#include <cassert>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::kernels {

class CpuAttention;
class CpuMatmul;
class ProductCuts;
class ThreadTeam;

/// Owns what the library calls of one thread need; made at the first use, since most streams never multiply.
class CpuStream final : public Stream {
 public:
  /// `cuts` outlives it, or is null (CpuMatmul).
  explicit CpuStream(ProductCuts* cuts = nullptr);
  ~CpuStream() override;
  /// The stream as what it is: all that the CPU's operations are given were made by its device.
  static CpuStream& of(Stream& stream) {
    assert(dynamic_cast<CpuStream*>(&stream) && "a stream belongs to the device that created it");
    return static_cast<CpuStream&>(stream);
  }
  void record(Event& event) override;
  void wait(const Event&) override {}
  void use_threads(int threads) override;
  void synchronize(Deadline) override {}

  ThreadTeam& team();
  CpuMatmul& matmul();
  CpuAttention& attention();

 private:
  ProductCuts* cuts_;
  int threads_ = 1;
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<CpuMatmul> matmul_;
  std::unique_ptr<CpuAttention> attention_;
};

/// Who shares the work of an operation that is enqueued on `stream`: its team, or the calling thread alone where the stream is
/// none of the CPU's, as for sums over messages that the host makes beside another device.
ThreadTeam& team_of(Stream& stream);

/// May be recorded in one thread and asked in others.
class CpuEvent final : public Event {
 public:
  bool done() const override { return true; }
  void wait(Deadline) const override {}
  double time_s() const override { return time_s_.load(std::memory_order_acquire); }
  void record_at(double time_s) { time_s_.store(time_s, std::memory_order_release); }

 private:
  std::atomic<double> time_s_{0.0};
};

}  // namespace tenax::kernels
