// The sending thread enqueues, on a stream of the copier: wait until the tensor is there, copy, count. A watching thread
// sees the count in pinned memory and hands the message on; it asks nothing of the device, whose driver may make one
// caller wait while another's stream is stuck.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "comm/delegates/copier.hpp"
#include "comm/worker.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

/// From one look at the count to the next: against copies that take milliseconds.
constexpr std::chrono::microseconds kLook{50};
constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken

class StreamCopier final : public Copier {
 public:
  StreamCopier(kernels::Device& device, Events events)
      : device_(device),
        staging_(device),
        stream_(device.create_stream()),
        copied_(device.create_flag()),
        events_(std::move(events)) {}
  ~StreamCopier() override { stop(); }
  StreamCopier(const StreamCopier&) = delete;
  StreamCopier& operator=(const StreamCopier&) = delete;

  void stop() override;
  void add(const OutgoingPtr& message) override;
  void give_back(OutgoingMessage& message) override { staging_.give_back(std::move(message.slot)); }
  void set_slots(int) override {}

 private:
  bool wait_until_copied(std::uint32_t number);
  void watch(const OutgoingPtr& message, std::uint32_t number);

  kernels::Device& device_;
  HostStaging staging_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Flag> copied_;  // how many copies have ended
  std::uint32_t enqueued_ = 0;             // the sending thread's
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  std::unique_ptr<Worker> watcher_ = std::make_unique<Worker>();
};

void StreamCopier::add(const OutgoingPtr& message) {
  const kernels::Tensor& tensor = message->tensor;
  message->slot = staging_.take(tensor.bytes());
  message->copied = device_.create_event();
  message->begin_reading();  // until watch() has seen the copy
  stream_->wait(*message->ready);
  if (tensor.bytes() > 0)
    device_.kernels().copy(*stream_, tensor, {message->slot.buffer->data(), tensor.dtype, tensor.shape});
  stream_->record(*message->copied);
  stream_->set(*copied_, ++enqueued_);
  watcher_->add([this, message, number = enqueued_] { watch(message, number); });
}

void StreamCopier::watch(const OutgoingPtr& message, std::uint32_t number) {
  const bool is_copied = wait_until_copied(number);
  if (is_copied) {
    message->payload = message->slot.memory(message->header.payload_bytes);
    message->release();
  }
  message->end_reading();
  if (is_copied) events_.copied(message);
}

/// False when the copier is being closed. The tensor is there when the ops before it have run, however late: the sender's
/// own wait has the deadline.
bool StreamCopier::wait_until_copied(std::uint32_t number) {
  std::unique_lock lock(mutex_);
  while (!is_stopped_ && copied_->value() < number) changed_.wait_for(lock, kLook);
  return copied_->value() >= number;
}

/// What is enqueued still reads tensors and writes slots: nobody is told that it is over before it is.
void StreamCopier::stop() {
  if (!watcher_) return;
  try {
    stream_->synchronize(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (...) {
    events_.failed(failure_of(std::current_exception()));
  }
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  watcher_.reset();
}

}  // namespace

std::unique_ptr<Copier> create_stream_copier(kernels::Device& device, Copier::Events events) {
  return std::make_unique<StreamCopier>(device, std::move(events));
}

}  // namespace tenax::comm
