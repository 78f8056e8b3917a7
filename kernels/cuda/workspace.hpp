// Scratch memory of a stream, for what an operation needs between its own kernels.
#pragma once

#include <cstddef>
#include <vector>

namespace tenax::kernels::cuda {

/// Thread rule: its stream's. Memory comes from cudaMalloc, on the device that is current when it grows.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// `bytes` of device memory, aligned to 256 bytes, contents arbitrary, valid until the next take(): one take() per
  /// operation, which divides it among its needs. The next operation of the stream may be given the same memory, as the
  /// stream's order allows. Grows where it must, never while the stream is being captured: an operation that is captured
  /// has to have run once with these shapes. Throws Error(rank) otherwise, and when the device is full.
  void* take(std::size_t bytes);

  void begin_capture() { capturing_ = true; }
  void end_capture() { capturing_ = false; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  /// Operations already enqueued, and graphs, still use what was outgrown.
  std::vector<void*> outgrown_;
  bool capturing_ = false;
};

}  // namespace tenax::kernels::cuda
