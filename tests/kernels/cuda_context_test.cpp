// When memory that owners have let go of is freed, on a device of the host's making.
#include "kernels/cuda/cuda_context.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "kernels/error.hpp"

namespace {

enum class StreamState { idle, busy, captured };

struct FakeDevice {
  std::map<cudaStream_t, StreamState> streams;
  int freed = 0, marks = 0;
  int asked_in_capture = 0;  ///< streams that are asked for their state while another one is captured
  bool is_full = false;

  bool captures() const {
    for (const auto& [stream, state] : streams)
      if (state == StreamState::captured) return true;
    return false;
  }
};
FakeDevice device;

cudaStream_t stream_of(std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); }

}  // namespace

/// Behind all that its stream was given.
struct CUevent_st {
  cudaStream_t stream = nullptr;
};

cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
cudaError_t cudaMemGetInfo(std::size_t*, std::size_t*) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const bool is = device.streams[stream] == StreamState::captured;
  *status = is ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (device.captures()) ++device.asked_in_capture;
  return device.streams[stream] == StreamState::idle ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  ++device.marks;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaStreamQuery(event->stream); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --device.marks;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (device.is_full && device.freed == 0) return cudaErrorMemoryAllocation;
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  ++device.freed;
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }

namespace tenax::kernels::cuda {

void throw_cuda(cudaError_t, const char* call) { throw Error(Scope::rank, call); }
EventClock::EventClock(double anchor_life_s, double) : anchor_life_s_(anchor_life_s) {}
DriverCalls find_driver_calls() { return {}; }
bool has_kernels_for_current_device() { return true; }

namespace {

class CudaContextTest : public testing::Test {
 protected:
  CudaContextTest() {
    device = {};
    for (const std::uintptr_t number : {1, 2}) context_->add(stream_of(number));
  }
  void let_go() { context_->release(context_->allocate(64)); }
  static void set(std::uintptr_t stream, StreamState state) { device.streams[stream_of(stream)] = state; }

  std::unique_ptr<CudaContext> context_ = std::make_unique<CudaContext>(0);
};

TEST_F(CudaContextTest, frees_at_once_what_no_stream_uses) {
  let_go();
  EXPECT_EQ(device.freed, 1);
}

TEST_F(CudaContextTest, frees_what_a_stream_may_use_once_that_is_through) {
  set(1, StreamState::busy);
  let_go();
  context_->reclaim();
  EXPECT_EQ(device.freed, 0);
  set(1, StreamState::idle);
  context_->reclaim();
  EXPECT_EQ(device.freed, 1);
}

// To free would hold the thread up for as long as the stream stands at a message.
TEST_F(CudaContextTest, does_not_free_while_any_stream_is_busy) {
  set(1, StreamState::busy);
  let_go();
  set(1, StreamState::idle);
  set(2, StreamState::busy);
  context_->reclaim();
  EXPECT_EQ(device.freed, 0);
  set(2, StreamState::idle);
  context_->reclaim();
  EXPECT_EQ(device.freed, 1);
}

TEST_F(CudaContextTest, asks_nothing_of_streams_while_one_is_captured_and_frees_nothing) {
  set(1, StreamState::captured);
  set(2, StreamState::busy);
  let_go();
  context_->reclaim();
  EXPECT_EQ(device.asked_in_capture, 0);
  EXPECT_EQ(device.marks, 0);
  EXPECT_EQ(device.freed, 0);
  set(1, StreamState::idle);
  context_->reclaim();
  EXPECT_EQ(device.freed, 0) << "the other stream may use it";
  set(2, StreamState::idle);
  context_->reclaim();
  EXPECT_EQ(device.freed, 1);
}

TEST_F(CudaContextTest, with_no_memory_left_frees_what_streams_are_through_with) {
  set(1, StreamState::busy);
  let_go();
  set(1, StreamState::idle);
  device.is_full = true;
  void* const memory = context_->allocate(64);
  EXPECT_EQ(device.freed, 1);
  context_->release(memory);
}

}  // namespace
}  // namespace tenax::kernels::cuda
