#include <condition_variable>
#include <mutex>

#include "comm/delegates/copier.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {
namespace {

class ThreadCopier final : public Copier {
 public:
  ThreadCopier(kernels::Device& device, Transport* transport, int buffers, double deadline_s, Events events)
      : device_(device),
        staging_(device, transport),
        deadline_s_(deadline_s),
        events_(std::move(events)),
        buffers_(buffers) {}
  ~ThreadCopier() override { stop(); }
  ThreadCopier(const ThreadCopier&) = delete;
  ThreadCopier& operator=(const ThreadCopier&) = delete;

  void stop() override;
  void add(const OutgoingPtr& message) override;
  void give_back(OutgoingMessage& message) override;
  void set_buffers(int buffers) override;

 private:
  bool wait_for_buffer();
  void copy(const OutgoingPtr& message);

  kernels::Device& device_;
  HostStaging staging_;
  const double deadline_s_;
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int buffers_, used_ = 0;
  bool is_stopped_ = false;
  std::unique_ptr<Worker> worker_ = std::make_unique<Worker>();
};

void ThreadCopier::stop() {
  change_and_notify(mutex_, changed_, [this] { is_stopped_ = true; });
  worker_.reset();
}

void ThreadCopier::set_buffers(int buffers) {
  change_and_notify(mutex_, changed_, [&] { buffers_ = buffers; });
}

void ThreadCopier::add(const OutgoingPtr& message) {
  worker_->add([this, message] {
    try {
      if (wait_for_buffer()) copy(message);
    } catch (...) {
      events_.failed(failure_of(std::current_exception()));
    }
  });
}

/// False when the copier is being closed. Buffers come back as the peer acknowledges, however late: the sender's own wait
/// has the deadline.
bool ThreadCopier::wait_for_buffer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || used_ < buffers_; });
  if (is_stopped_) return false;
  ++used_;
  return true;
}

void ThreadCopier::copy(const OutgoingPtr& message) {
  if (!message->begin_reading()) {
    events_.failed({kernels::Scope::link, "a send was given up before it was done"});
    return;
  }
  const kernels::Deadline deadline = kernels::Deadline::after_s(deadline_s_);
  try {
    message->host_buffer = staging_.take(message->header.payload_bytes);
    staging_.copy_out(message->host_buffer, message->tensor, *message->ready);
    const double copied_s = staging_.finish(message->host_buffer, deadline);
    if (!device_.has_data()) message->ready_s = copied_s;
  } catch (...) {
    message->end_reading();
    throw;
  }
  message->payload = message->host_buffer.memory(message->header.payload_bytes);
  message->release();
  message->end_reading();
  events_.ready_to_send(message);
  events_.copied(message);
}

void ThreadCopier::give_back(OutgoingMessage& message) {
  staging_.give_back(std::move(message.host_buffer));
  change_and_notify(mutex_, changed_, [this] { --used_; });
}

}  // namespace

std::unique_ptr<Copier> create_thread_copier(kernels::Device& device, Transport* transport, int buffers,
                                             double deadline_s, Copier::Events events) {
  return std::make_unique<ThreadCopier>(device, transport, buffers, deadline_s, std::move(events));
}

}  // namespace tenax::comm
