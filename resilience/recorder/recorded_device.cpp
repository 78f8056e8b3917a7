#include "resilience/recorder/recorded_device.hpp"

#include "kernels/forwarding_device.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::resilience {
namespace {

template <class Interface>
class Recorded : public kernels::ForwardingDevice<Interface> {
 public:
  Recorded(std::unique_ptr<Interface> inner, Recorder& recorder)
      : kernels::ForwardingDevice<Interface>(std::move(inner)), ranges_(recorder) {}
  kernels::Kernels& kernels() override { return this->inner().kernels(); }
  void push_range(const char* name) override {
    this->inner().push_range(name);
    ranges_.push(name);
  }
  void pop_range() override {
    ranges_.pop();
    this->inner().pop_range();
  }

 private:
  RecordedRanges ranges_;
};

class RecordedEmulatedDevice final : public Recorded<kernels::EmulatedDevice> {
 public:
  using Recorded::Recorded;
  void occupy(kernels::Stream& stream, double seconds) override { inner().occupy(stream, seconds); }
  void host_blocked(kernels::Stream& stream) override { inner().host_blocked(stream); }
};

}  // namespace

void RecordedRanges::push(const char* name) {
  if (std::this_thread::get_id() != thread_) return;
  open_.emplace_back();
  if (parallel::op_of_text(name)) open_.back() = recorder_.begin(OperationKind::pass, -1, 0, name);
}

void RecordedRanges::pop() {
  if (std::this_thread::get_id() != thread_ || open_.empty()) return;
  if (open_.back()) recorder_.end(*open_.back());
  open_.pop_back();
}

std::unique_ptr<kernels::Device> record_device(std::unique_ptr<kernels::Device> inner, Recorder& recorder) {
  return std::make_unique<Recorded<kernels::Device>>(std::move(inner), recorder);
}

std::unique_ptr<kernels::EmulatedDevice> record_device(std::unique_ptr<kernels::EmulatedDevice> inner,
                                                       Recorder& recorder) {
  return std::make_unique<RecordedEmulatedDevice>(std::move(inner), recorder);
}

}  // namespace tenax::resilience
