// The parts of a delegated link, per rank:
//
//   send() -> [Copier ->] OutgoingChannel 0 … k-1 ==connections==> IncomingChannel 0 … k-1 -> Inbox -> receive()
//                  \                              <=============== Acknowledger                /
//                   ‾‾‾‾‾‾‾‾‾‾‾‾‾ SharedBufferPool (asynchronous devices on one host) ‾‾‾‾‾‾‾‾‾‾
//
// and the same the other way, over connections of its own. A delegate is a channel with its thread.
// The header has the states.
#include "comm/delegates/delegated_link.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <exception>
#include <map>

#include "comm/delegates/acknowledger.hpp"
#include "comm/delegates/copier.hpp"
#include "comm/delegates/outgoing_channel.hpp"
#include "comm/delegates/pool_connector.hpp"
#include "comm/delegates/send_transfer.hpp"
#include "comm/inbox/message_check.hpp"
#include "comm/signal.hpp"

namespace tenax::comm {

namespace {

using kernels::Scope;

/// For the first connection, where a link is closed at once.
constexpr double kFarewell_s = 2;

class ThreadedDelegatedLink final : public DelegatedLink, public ChannelObserver {
 public:
  ThreadedDelegatedLink(const std::string& name, const Peer& me, const Peer& peer, Transport& transport,
                        kernels::Device& device, DelegateOptions options)
      : parties_{name, me, peer, transport, options.deadline_s},
        device_(device),
        wire_(options.link_gbps),
        copies_out_(!device.has_data() || !device.is_host_memory()),
        shared_buffers_(device, parties_.connects() ? 0 : 1),
        inbox_(device, signal_, me.name, peer.name, true, &shared_buffers_,
               device.is_asynchronous() ? &transport : nullptr),
        acknowledger_(parties_, [this] { return all(incoming_); }),
        copier_(make_copier(options)) {
    assert(me.rank != peer.rank);
    try {
      set_delegates(options.delegates);
      if (device.is_asynchronous()) connector_ = std::make_unique<PoolConnector>(parties_, shared_buffers_);
    } catch (...) {
      acknowledger_.close(0, [] { return true; });  // its thread looks at the channels
      throw;
    }
  }
  ~ThreadedDelegatedLink() override;

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return inbox_.post(stream, tensor, tag);
  }
  Signal* signal() override { return &signal_; }
  std::string describe() const override { return parties_.describe(); }
  void set_delegates(int delegates) override;
  std::uint64_t copied_bytes() const override { return copied_bytes_ + inbox_.copied_bytes(); }

 private:
  void on_acknowledged(std::span<const std::uint64_t> arrived_of_channel) override;
  void on_farewell() override;
  void on_delivered(const OutgoingPtr& message) override;
  void on_host_needed(OutgoingMessage& message) override { copier_->bring_to_host(message); }
  void on_arrival() override { acknowledger_.notify(); }
  void on_copied(std::uint64_t bytes) override { copied_bytes_ += bytes; }
  void on_failure(const Failure& failure) override;

  std::unique_ptr<Copier> make_copier(const DelegateOptions& options);
  bool is_read(std::span<const std::byte> memory) const;
  void dispatch(const OutgoingPtr& message);
  void flush();
  void stop_channels();
  template <class Channel>
  std::vector<Channel*> all(const std::vector<std::unique_ptr<Channel>>& channels) const {
    const std::lock_guard lock(mutex_);
    std::vector<Channel*> list;
    for (const auto& channel : channels) list.push_back(channel.get());
    return list;
  }

  const LinkParties parties_;
  kernels::Device& device_;
  EmulatedWire wire_;
  const bool copies_out_;
  const int exceptions_ = std::uncaught_exceptions();
  Signal signal_;
  std::shared_ptr<LinkFailure> failure_ = std::make_shared<LinkFailure>();
  std::map<Tag, std::uint64_t> numbers_;

  mutable std::mutex mutex_;  // guards these and the channels
  std::condition_variable changed_;
  int delegates_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t undelivered_ = 0;
  std::atomic<std::uint64_t> copied_bytes_ = 0;

  SharedBufferPool shared_buffers_;
  Inbox inbox_;
  Acknowledger acknowledger_;
  std::unique_ptr<Copier> copier_;
  std::vector<std::unique_ptr<OutgoingChannel>> outgoing_;  // last: their threads use all else
  std::vector<std::unique_ptr<IncomingChannel>> incoming_;
  std::unique_ptr<PoolConnector> connector_;
};

ThreadedDelegatedLink::~ThreadedDelegatedLink() {
  const bool unwinds = std::uncaught_exceptions() > exceptions_;
  if (!unwinds) flush();
  const auto is_over = [&] { return unwinds || failure_->is_set(); };
  acknowledger_.close(is_over() ? 0 : std::min(parties_.deadline_s, kFarewell_s), is_over);
  failure_->set({Scope::link, "the delegated link " + parties_.name + " (" + describe() + ") was closed"});
  connector_.reset();
  copier_->stop();
  stop_channels();  // all at once; each then ends without waiting for others
  for (OutgoingChannel* channel : all(outgoing_)) channel->end();
  for (IncomingChannel* channel : all(incoming_)) channel->end();
}

std::unique_ptr<Copier> ThreadedDelegatedLink::make_copier(const DelegateOptions& options) {
  const Copier::Events events = {[this](const OutgoingPtr& message) { dispatch(message); },
                                 [this](const OutgoingPtr&) { signal_.notify(); },
                                 [this](const Failure& failure) { on_failure(failure); }};
  if (device_.is_asynchronous())
    return create_stream_copier(device_, &parties_.transport, shared_buffers_, events,
                                [this](std::span<const std::byte> memory) { return is_read(memory); });
  return create_thread_copier(device_, &parties_.transport, kBuffersPerDelegate * options.delegates,
                              options.deadline_s, events);
}

/// By all that may be given the message.
bool ThreadedDelegatedLink::is_read(std::span<const std::byte> memory) const {
  const auto channels = all(outgoing_);
  return std::all_of(channels.begin(), channels.end(),
                     [&](OutgoingChannel* channel) { return channel->can_read(memory); });
}

TransferPtr ThreadedDelegatedLink::send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  const auto message = std::make_shared<OutgoingMessage>();
  message->header.kind = static_cast<std::int32_t>(MessageKind::data);
  message->header.tag = tag;
  message->header.number = numbers_[tag]++;
  message->header.bytes = tensor.bytes();
  message->header.payload_bytes = device_.has_data() ? tensor.bytes() : 0;
  message->tensor = tensor;
  message->ready = device_.create_event();
  stream.record(*message->ready);
  {
    const std::lock_guard lock(mutex_);
    ++undelivered_;
  }
  auto transfer =
      std::make_unique<SendTransfer>(message, failure_, signal_, parties_.me.name, parties_.peer.name);
  if (copies_out_) {
    copier_->add(message);
  } else {
    message->payload = tensor.raw();
    dispatch(message);
  }
  return transfer;
}

void ThreadedDelegatedLink::dispatch(const OutgoingPtr& message) {
  OutgoingChannel* channel = nullptr;
  {
    const std::lock_guard lock(mutex_);
    channel = outgoing_[turn_++ % static_cast<std::uint64_t>(delegates_)].get();
  }
  channel->add(message);
}

/// Channels that are not used any more stay, asleep: the next set_delegates may want them again.
void ThreadedDelegatedLink::set_delegates(int delegates) {
  assert(delegates >= 1 && static_cast<std::size_t>(delegates) <= kMostCounts);
  copier_->set_buffers(kBuffersPerDelegate * delegates);
  const std::lock_guard lock(mutex_);
  for (int index = static_cast<int>(outgoing_.size()); index < delegates; ++index) {
    outgoing_.push_back(std::make_unique<OutgoingChannel>(parties_, index, wire_, *this));
    incoming_.push_back(std::make_unique<IncomingChannel>(parties_, index, inbox_, shared_buffers_,
                                                          device_.is_asynchronous(), *this));
  }
  delegates_ = delegates;
  turn_ = 0;
}

void ThreadedDelegatedLink::on_acknowledged(std::span<const std::uint64_t> arrived_of_channel) {
  const auto channels = all(outgoing_);
  for (std::size_t i = 0; i < std::min(channels.size(), arrived_of_channel.size()); ++i)
    channels[i]->acknowledge(arrived_of_channel[i]);
}

void ThreadedDelegatedLink::on_delivered(const OutgoingPtr& message) {
  if (message->host_buffer) copier_->give_back(*message);
  message->release();
  change_and_notify(mutex_, changed_, [this] { --undelivered_; });
  signal_.notify();
}

/// The peer has received all that it waited for, or it is in trouble. What it had sent is here.
void ThreadedDelegatedLink::on_farewell() {
  on_failure({Scope::link, "delegated link " + parties_.name + " (" + describe() +
                               "): " + parties_.peer.name +
                               " has closed it; if it has failed, its own message says why"});
  stop_channels();
}

void ThreadedDelegatedLink::on_failure(const Failure& failure) {
  failure_->set(failure);
  inbox_.fail(std::make_exception_ptr(kernels::Error(failure.scope, failure.sentence)));
  change_and_notify(mutex_, changed_, [] {});  // flush() looks and then sleeps
  signal_.notify();
}

/// Until all that was sent has arrived.
void ThreadedDelegatedLink::flush() {
  const kernels::Deadline deadline = kernels::Deadline::after_s(parties_.deadline_s);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.when(), [&] { return undelivered_ == 0 || failure_->is_set(); });
}

void ThreadedDelegatedLink::stop_channels() {
  for (OutgoingChannel* channel : all(outgoing_)) channel->stop();
  for (IncomingChannel* channel : all(incoming_)) channel->stop();
}

}  // namespace

std::unique_ptr<DelegatedLink> create_delegated_link(const std::string& name, const Peer& me,
                                                     const Peer& peer, Transport& transport,
                                                     kernels::Device& device, DelegateOptions options) {
  return std::make_unique<ThreadedDelegatedLink>(name, me, peer, transport, device, options);
}

int delegates_needed(double transfer_s, double production_interval_s) {
  constexpr double kMost = 64;
  constexpr double kRounding = 1e-9;  // 30 ms every 10 ms is 3, whatever the last bits say
  if (transfer_s <= 0) return 1;
  if (production_interval_s <= 0) return static_cast<int>(kMost);
  return static_cast<int>(std::clamp(std::ceil(transfer_s / production_interval_s - kRounding), 1.0, kMost));
}

}  // namespace tenax::comm
