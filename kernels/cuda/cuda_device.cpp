// The CUDA back end as a Device.
#include "kernels/cuda_device.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/cuda_event.hpp"
#include "kernels/cuda/cuda_flag.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/cuda_memory.hpp"
#include "kernels/cuda/cuda_stream.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/nvml.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/cuda/trial_memory.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {
namespace cuda {
namespace {

/// What is not the app's to fill before settle(): the libraries' kernels, loaded as they are first used, NCCL's buffers, and
/// for moments what trying algorithms out takes.
constexpr std::size_t kReserve_bytes = std::size_t{1} << 30;
/// And afterwards, when all of that has its memory: what rounding allocations up to pages of 2 MiB takes.
constexpr std::size_t kRoundingReserve_bytes = std::size_t{128} << 20;

std::string bus_id_of(int index) {
  char bus_id[32] = "";
  TENAX_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index));
  return bus_id;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaOptions& options)
      : context_(std::make_shared<CudaContext>(options.index)),
        bus_id_(bus_id_of(options.index)),
        deterministic_(options.deterministic),
        kernels_(options) {
    measure_memory(kReserve_bytes);
  }
  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string name() const override { return context_->name(); }
  std::size_t memory_bytes() const override { return memory_bytes_; }
  bool has_data() const override { return true; }
  bool is_host_memory() const override { return false; }
  bool is_asynchronous() const override { return true; }
  bool can_capture() const override { return true; }
  std::string bus_id() const override { return bus_id_; }
  std::string memory_id() const override { return context_->uuid(); }
  std::size_t total_bytes() const override { return context_->memory_info().total_bytes; }
  std::optional<DeviceReading> reading() override { return monitor().read(); }
  std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    return allocate_memory(context_, bytes, kind);
  }
  std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory,
                                                  std::size_t bytes) override {
    return register_memory(context_, std::move(memory), bytes);
  }
  void reclaim_memory() override { context_->reclaim(); }
  int export_memory(const Buffer& buffer) override { return cuda::export_memory(*context_, buffer); }
  std::unique_ptr<Stream> create_stream() override { return std::make_unique<CudaStream>(context_); }
  std::size_t scratch_bytes(const StepShape& shape) const override {
    const auto known = shape.compute == DType::bf16
                           ? kernels_.known_attention_bytes(attention_of(shape), shape.overwrites_qkv)
                           : std::nullopt;
    return known ? step_scratch_bytes(shape, *known) : cuda_scratch_bytes(shape, deterministic_);
  }
  void settle() override {
    kernels_.choices().settle();
    context_->reclaim();
    context_->make_current();
    trim_trial_memory();
    measure_memory(kRoundingReserve_bytes);
  }
  std::string choices() const override { return kernels_.choices().text(); }
  void choose_as(const std::string& choices) override { kernels_.choices().take(choices); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = kernels_.choices().notes();
    if (!monitor().note().empty()) notes.push_back(monitor().note());
    return notes;
  }
  void lend_multiprocessors(int count) override { kernels_.choices().lend_multiprocessors(count); }
  int lent_multiprocessors() const override { return kernels_.choices().lent_multiprocessors(); }
  std::unique_ptr<Event> create_event() override { return std::make_unique<CudaEvent>(context_); }
  std::unique_ptr<Flag> create_flag() override { return std::make_unique<CudaFlag>(context_); }
  Kernels& kernels() override { return kernels_; }
  void push_range(const char* name) override { cuda::push_range(name); }
  void pop_range() override { cuda::pop_range(); }

 private:
  // Made when it is first asked for: only runs ask, and NVML takes its time to start.
  const NvmlDevice& monitor() const {
    std::call_once(has_monitor_, [this] { monitor_.emplace(nvml_library(), bus_id_); });
    return *monitor_;
  }
  void measure_memory(std::size_t reserve_bytes) {
    const std::size_t free_bytes = context_->memory_info().free_bytes;
    memory_bytes_ = free_bytes - std::min(reserve_bytes, free_bytes / 2);
    if (const char* const kib = std::getenv("TENAX_CUDA_MEMORY_KIB"))
      memory_bytes_ = std::min<std::size_t>(memory_bytes_, 1024 * std::strtoull(kib, nullptr, 10));
  }

  std::shared_ptr<CudaContext> context_;
  std::string bus_id_;
  bool deterministic_;
  CudaKernels kernels_;
  std::size_t memory_bytes_ = 0;
  mutable std::once_flag has_monitor_;
  mutable std::optional<NvmlDevice> monitor_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> create_cuda_device(const CudaOptions& options) {
  const CudaPresence presence = cuda_presence();
  if (presence.devices == 0)
    throw Error(Scope::rank, "no CUDA device: " + presence.reason +
                                 "; set device.kind = \"cpu\", or \"auto\" to use what is there");
  if (options.index < 0 || options.index >= presence.devices)
    throw Error(Scope::rank, "there is no CUDA device " + std::to_string(options.index) + ": this host has " +
                                 std::to_string(presence.devices) + " (see CUDA_VISIBLE_DEVICES)");
  return std::make_unique<cuda::CudaDevice>(options);
}

}  // namespace tenax::kernels
