// The sending thread enqueues, on a stream of the copier: wait until the tensor is there, copy, count; piece by piece where
// the receiver's device reads from the same memory. A watching thread sees the count in pinned memory and hands the message
// on; it asks nothing of the device, whose driver may make one caller wait while another's stream is stuck.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "comm/buffers/device_staging.hpp"
#include "comm/delegates/copier.hpp"
#include "comm/pieces.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

/// From one look at the count to the next: against copies that take milliseconds.
constexpr std::chrono::microseconds kLook{50};
constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken

class StreamCopier final : public Copier {
 public:
  using IsRead = std::function<bool(std::span<const std::byte>)>;

  StreamCopier(kernels::Device& device, Transport* transport, SharedBufferPool& shared_buffers, Events events,
               IsRead is_read, std::uint32_t copied_before)
      : device_(device),
        shared_buffers_(shared_buffers),
        is_read_(std::move(is_read)),
        staging_(device, transport),
        device_staging_(device, transport),
        stream_(device.create_stream()),
        rescue_(device.create_stream()),
        copied_(device.create_flag()),
        enqueued_(copied_before),
        events_(std::move(events)) {
    copied_->set(copied_before);
  }
  ~StreamCopier() override { stop(); }
  StreamCopier(const StreamCopier&) = delete;
  StreamCopier& operator=(const StreamCopier&) = delete;

  void stop() override;
  void add(const OutgoingPtr& message) override;
  void give_back(OutgoingMessage& message) override;
  void bring_to_host(OutgoingMessage& message) override;
  void set_buffers(int) override {}

 private:
  HostBuffer buffer_for(const OutgoingMessage& message);
  void copy_in_pieces(const kernels::Tensor& tensor, const kernels::Tensor& host);
  bool wait_until_copied(std::uint32_t number);
  void watch(const OutgoingPtr& message, std::uint32_t before, std::uint32_t pieces);
  bool hand_on(const OutgoingPtr& message, std::uint32_t before, std::uint32_t pieces);

  kernels::Device& device_;
  SharedBufferPool& shared_buffers_;
  const IsRead is_read_;
  HostStaging staging_;
  DeviceStaging device_staging_;
  std::unique_ptr<kernels::Stream> stream_;
  std::mutex rescue_mutex_;
  std::unique_ptr<kernels::Stream> rescue_;  // the channels'
  std::unique_ptr<kernels::Flag> copied_;    // how many pieces have been copied
  std::uint32_t enqueued_;                   // the sending thread's
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  std::unique_ptr<Worker> watcher_ = std::make_unique<Worker>();
};

void StreamCopier::add(const OutgoingPtr& message) {
  const kernels::Tensor& tensor = message->tensor;
  message->host_buffer = buffer_for(*message);
  const bool is_shared = message->host_buffer.shared_id != 0;
  const std::uint32_t before = enqueued_, pieces = is_shared ? pieces_of(tensor.bytes()) : 1;
  message->copied = device_.create_event();
  message->begin_reading();  // until watch() has seen the copy
  const kernels::Tensor host{message->host_buffer.buffer->data(), tensor.dtype, tensor.shape};
  stream_->wait(*message->ready);
  if (pieces > 1) {
    copy_in_pieces(tensor, host);
  } else {
    if (tensor.bytes() > 0) device_.kernels().copy(*stream_, tensor, host);
    stream_->set(*copied_, ++enqueued_);
  }
  stream_->record(*message->copied);
  watcher_->add([this, message, before, pieces] { watch(message, before, pieces); });
}

HostBuffer StreamCopier::buffer_for(const OutgoingMessage& message) {
  const std::size_t bytes = message.tensor.bytes();
  const auto place = shared_buffers_.outgoing(message.header.tag, message.header.number);
  if (HostBuffer shared = shared_buffers_.buffer_for(place, bytes)) return shared;
  if (std::optional<HostBuffer> on_device = device_staging_.take(bytes)) {
    if (is_read_(on_device->memory(bytes))) return std::move(*on_device);
    device_staging_.give_back(std::move(*on_device));
  }
  return staging_.take(bytes);
}

void StreamCopier::copy_in_pieces(const kernels::Tensor& tensor, const kernels::Tensor& host) {
  for (std::uint32_t i = 0; i < pieces_of(tensor.bytes()); ++i) {
    device_.kernels().copy(*stream_, piece_of(tensor, i), piece_of(host, i));
    stream_->set(*copied_, ++enqueued_);
  }
}

/// Once the receiver has it, the host buffer is not this thread's any more.
void StreamCopier::watch(const OutgoingPtr& message, std::uint32_t before, std::uint32_t pieces) {
  const bool is_copied = hand_on(message, before, pieces);
  if (is_copied) message->release();
  message->end_reading();
  if (is_copied) events_.copied(message);
}

bool StreamCopier::hand_on(const OutgoingPtr& message, std::uint32_t before, std::uint32_t pieces) {
  const std::uint64_t shared_id = message->host_buffer.shared_id;
  const std::size_t bytes = message->tensor.bytes();
  for (std::uint32_t i = 0; i < pieces; ++i) {
    if (!wait_until_copied(before + i + 1)) return false;
    if (i == 0) message->payload = message->host_buffer.memory(bytes);
    if (shared_id != 0)
      shared_buffers_.fill(SharedBufferId::of_code(shared_id), pieces > 1 ? end_of_piece(i, bytes) : bytes);
    if (i == 0) events_.ready_to_send(message);
  }
  return true;
}

void StreamCopier::give_back(OutgoingMessage& message) {
  HostBuffer host_buffer = std::move(message.host_buffer);
  if (host_buffer.is_on_device) return device_staging_.give_back(std::move(host_buffer));
  if (host_buffer.shared_id == 0) return staging_.give_back(std::move(host_buffer));
  shared_buffers_.release_sent(shared_buffers_.outgoing(message.header.tag, message.header.number),
                               SharedBufferId::of_code(host_buffer.shared_id));
}

/// The one time that a thread of the network asks something of the device: its way has failed.
void StreamCopier::bring_to_host(OutgoingMessage& message) {
  const kernels::Tensor& tensor = message.tensor;
  HostBuffer on_host = staging_.take(tensor.bytes());
  {
    const std::lock_guard lock(rescue_mutex_);
    device_.kernels().copy(*rescue_, {message.host_buffer.buffer->data(), tensor.dtype, tensor.shape},
                           {on_host.buffer->data(), tensor.dtype, tensor.shape});
    rescue_->record(*on_host.copied);
  }
  on_host.copied->wait(kernels::Deadline::after_s(kCopyDeadline_s));
  device_staging_.give_back(std::exchange(message.host_buffer, std::move(on_host)));
  message.payload = message.host_buffer.memory(tensor.bytes());
}

/// False when the copier is being closed. The tensor is there when the ops before it have run, however late: the sender's
/// own wait has the deadline.
bool StreamCopier::wait_until_copied(std::uint32_t number) {
  std::unique_lock lock(mutex_);
  while (!is_stopped_ && !has_come_to(copied_->value(), number)) changed_.wait_for(lock, kLook);
  return has_come_to(copied_->value(), number);
}

/// What is enqueued still reads tensors and writes host buffers: nobody is told that it is over before it is.
void StreamCopier::stop() {
  if (!watcher_) return;
  try {
    stream_->synchronize(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (...) {
    events_.failed(failure_of(std::current_exception()));
  }
  change_and_notify(mutex_, changed_, [this] { is_stopped_ = true; });
  watcher_.reset();
}

}  // namespace

std::unique_ptr<Copier> create_stream_copier(kernels::Device& device, Transport* transport,
                                             SharedBufferPool& shared_buffers, Copier::Events events,
                                             std::function<bool(std::span<const std::byte>)> is_read,
                                             std::uint32_t copied_before) {
  return std::make_unique<StreamCopier>(device, transport, shared_buffers, std::move(events),
                                        std::move(is_read), copied_before);
}

}  // namespace tenax::comm
