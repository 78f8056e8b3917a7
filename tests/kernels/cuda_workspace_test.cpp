// A stream's scratch memory, on a device of the host's making.
#include "kernels/cuda/workspace.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/error.hpp"

namespace {

struct FakeDevice {
  std::set<void*> memory;
  std::size_t bytes = 0;  ///< ever allocated
  bool captures = false;
};
FakeDevice device;

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

namespace tenax::kernels::cuda {

void throw_cuda(cudaError_t, const char* call) { throw Error(Scope::rank, call); }
EventClock::EventClock(double anchor_life_s, double) : anchor_life_s_(anchor_life_s) {}
CudaContext::CudaContext(int index) : index_(index) {}
CudaContext::~CudaContext() = default;
void* CudaContext::allocate(std::size_t bytes) {
  device.bytes += bytes;
  return *device.memory.insert(std::malloc(1)).first;
}
void CudaContext::release(void* memory) noexcept {
  EXPECT_EQ(device.memory.erase(memory), 1u);
  std::free(memory);
}
unsigned long long capture_of(cudaStream_t) { return device.captures ? 1 : 0; }

namespace {

class CudaWorkspace : public testing::Test {
 protected:
  CudaWorkspace() { device = {}; }
  Workspace workspace_{std::make_shared<CudaContext>(0), nullptr};
};

TEST_F(CudaWorkspace, that_was_taken_at_once_neither_moves_nor_grows) {
  constexpr std::size_t kPlanned = 3 * kLeastWorkspace_bytes;
  void* const memory = workspace_.take(kPlanned);
  for (const std::size_t bytes : {std::size_t{1}, kLeastWorkspace_bytes, kPlanned})
    EXPECT_EQ(workspace_.take(bytes), memory);
  EXPECT_EQ(device.bytes, kPlanned);
}

TEST_F(CudaWorkspace, grows_to_what_is_needed_and_keeps_what_operations_under_way_use) {
  void* const first = workspace_.take(1);
  EXPECT_EQ(device.bytes, kLeastWorkspace_bytes);
  EXPECT_NE(workspace_.take(kLeastWorkspace_bytes + 1), first);
  EXPECT_EQ(device.bytes, 2 * kLeastWorkspace_bytes + 1);
  EXPECT_EQ(device.memory.size(), 2u);
}

TEST_F(CudaWorkspace, gives_all_back_in_the_end) {
  {
    Workspace other(std::make_shared<CudaContext>(0), nullptr);
    other.take(1);
    other.take(2 * kLeastWorkspace_bytes);
  }
  EXPECT_TRUE(device.memory.empty());
}

TEST_F(CudaWorkspace, does_not_grow_in_a_capture) {
  void* const memory = workspace_.take(1);
  device.captures = true;
  EXPECT_EQ(workspace_.take(kLeastWorkspace_bytes), memory);
  EXPECT_THROW(workspace_.take(kLeastWorkspace_bytes + 1), Error);
}

}  // namespace
}  // namespace tenax::kernels::cuda
