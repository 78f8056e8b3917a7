// The CPU back end as a Device. Pinned memory and device memory are the same thing here.
#include <Kokkos_Core.hpp>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/cpu_stream.hpp"
#include "kernels/cpu/host_memory.hpp"
#include "kernels/cpu/product_cuts.hpp"
#include "kernels/cpu_device.hpp"
#include "kernels/device.hpp"
#include "kernels/host.hpp"

namespace tenax::kernels {
namespace {

/// Kokkos cannot be initialised twice in a process, and must outlive every device. What was initialised here is finalised
/// when the process exits.
class KokkosRuntime {
 public:
  KokkosRuntime() : ours_(!Kokkos::is_initialized()) {
    if (ours_) Kokkos::initialize();
  }
  ~KokkosRuntime() {
    if (ours_ && Kokkos::is_initialized()) Kokkos::finalize();
  }
  KokkosRuntime(const KokkosRuntime&) = delete;
  KokkosRuntime& operator=(const KokkosRuntime&) = delete;

 private:
  bool ours_;
};

/// From the first call on, from whatever thread.
void require_kokkos() {
  static const KokkosRuntime runtime;  // initialised once, however many threads arrive
  (void)runtime;
}

/// What a thread keeps between operations, beside the first one's, which does not count: operands of a head as
/// attention packs them, with a block of rows of scores, and the largest weight as oneDNN packs it.
std::size_t scratch_of_thread(const StepShape& shape) {
  constexpr std::int64_t kPackedOperands = 6, kRowsOfScores = 128, kWidening = 4;
  const std::int64_t head = shape.length * (kPackedOperands * shape.head_size + kRowsOfScores);
  const std::int64_t weight = kWidening * shape.hidden_size * shape.heads * shape.head_size;
  return static_cast<std::size_t>(head) * bytes_of(accumulation_of(shape.compute)) +
         static_cast<std::size_t>(weight) * bytes_of(shape.compute);
}

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, std::unique_ptr<ProductCuts> cuts)
      : threads_(threads), cuts_(std::move(cuts)), memory_bytes_(usable_memory_bytes()) {
    require_kokkos();
  }
  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string name() const override { return "cpu (" + processor_name() + ", " + cpu_loops_name() + ")"; }
  std::size_t memory_bytes() const override { return memory_bytes_; }
  bool has_data() const override { return true; }
  bool is_host_memory() const override { return true; }
  std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind) override {
    return allocate_host_memory(bytes, memory_bytes_);
  }
  std::unique_ptr<Stream> create_stream() override { return std::make_unique<CpuStream>(cuts_.get()); }
  std::unique_ptr<Event> create_event() override { return std::make_unique<CpuEvent>(); }
  Kernels& kernels() override { return *kernels_; }
  std::vector<std::string> notes() const override {
    return cuts_ ? cuts_->notes() : std::vector<std::string>{};
  }
  int threads() const override { return threads_; }
  std::size_t scratch_bytes(const StepShape& shape) const override {
    return static_cast<std::size_t>(threads_ - 1) * scratch_of_thread(shape);
  }

 private:
  int threads_;
  std::unique_ptr<ProductCuts> cuts_;  // null: products are cut as usual
  std::size_t memory_bytes_;
  std::unique_ptr<Kernels> kernels_ = cpu_loops().create_kernels();
};

}  // namespace

std::unique_ptr<Device> create_cpu_device(int threads) {
  return std::make_unique<CpuDevice>(threads, nullptr);
}

std::unique_ptr<Device> create_tuned_cpu_device(const std::filesystem::path& cache, int threads) {
  const auto file = cache.empty() ? cache : cache / "cpu_products.txt";
  return std::make_unique<CpuDevice>(threads, std::make_unique<ProductCuts>(file, machine_of_cuts()));
}

}  // namespace tenax::kernels
