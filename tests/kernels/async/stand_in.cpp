#include "tests/kernels/async/stand_in.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/choices.hpp"
#include "tests/kernels/async/stand_in_kernels.hpp"

namespace tenax::kernels::test {
namespace {

class StandIn final : public Device {
 public:
  explicit StandIn(const StandInOptions& options) : options_(options) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string name() const override { return "cuda 0 (stand-in on " + cpu_->name() + ")"; }
  std::size_t memory_bytes() const override {
    return options_.memory_bytes > 0 ? options_.memory_bytes : cpu_->memory_bytes();
  }
  bool has_data() const override { return true; }
  bool is_host_memory() const override { return false; }
  bool is_asynchronous() const override { return true; }
  bool can_capture() const override { return true; }
  std::string bus_id() const override { return "0000:00:00.0"; }
  std::optional<DeviceReading> reading() override { return options_.reading; }
  std::unique_ptr<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    return kind == MemoryKind::pinned_host ? memory_.allocate_pinned(bytes) : memory_.allocate(bytes);
  }
  std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory,
                                                  std::size_t bytes) override {
    return options_.registers ? memory_.register_host(std::move(memory), bytes) : nullptr;
  }
  /// There is one way to do everything.
  void settle() override {
    choices_.settle();
    choices_.choose("everything", "the CPU's way");
  }
  std::string choices() const override { return choices_.text(); }
  void choose_as(const std::string& choices) override { choices_.take(choices); }
  std::vector<std::string> notes() const override { return choices_.notes(); }
  void lend_multiprocessors(int count) override {
    choices_.lend_multiprocessors(count);
    if (options_.use) options_.use->lent += count;
  }
  std::size_t scratch_bytes(const StepShape& /*shape*/) const override { return options_.scratch_bytes; }
  int lent_multiprocessors() const override { return choices_.lent_multiprocessors(); }
  void reclaim_memory() override { memory_.reclaim(); }
  int export_memory(const Buffer& buffer) override {
    return options_.exports ? memory_.export_memory(buffer) : -1;
  }
  std::unique_ptr<Stream> create_stream() override;
  std::unique_ptr<Event> create_event() override { return std::make_unique<StandInEvent>(); }
  std::unique_ptr<Flag> create_flag() override { return std::make_unique<StandInFlag>(); }
  Kernels& kernels() override { return kernels_; }

 private:
  std::function<bool()> mark();

  const StandInOptions options_;
  std::unique_ptr<Device> cpu_ = create_cpu_device();
  StandInMemory memory_{*cpu_, [this] { return mark(); }, options_.use};
  StandInKernels kernels_{cpu_->kernels(), memory_, options_};
  cuda::Choices choices_{true, "stand-in"};
  std::mutex mutex_;
  std::vector<std::shared_ptr<StreamQueue>> queues_;
};

std::unique_ptr<Stream> StandIn::create_stream() {
  const std::lock_guard lock(mutex_);
  StandInOptions options = options_;
  options.seed += queues_.size();
  queues_.push_back(std::make_shared<StreamQueue>(*cpu_, options));
  return std::make_unique<StandInStream>(queues_.back(), memory_);
}

// Streams that are gone have run all they were given.
std::function<bool()> StandIn::mark() {
  const std::lock_guard lock(mutex_);
  std::erase_if(queues_, [](const auto& queue) { return queue.use_count() == 1 && queue->is_empty(); });
  std::vector<std::function<bool()>> passed;
  for (const auto& queue : queues_)
    if (!queue->is_empty()) passed.push_back(queue->mark());
  return [passed = std::move(passed)] {
    return std::all_of(passed.begin(), passed.end(), [](const auto& is_passed) { return is_passed(); });
  };
}

}  // namespace

std::unique_ptr<Device> create_stand_in(const StandInOptions& options) {
  return std::make_unique<StandIn>(options);
}

}  // namespace tenax::kernels::test
