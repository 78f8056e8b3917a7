#include "comm/delegates/acknowledger.hpp"

#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

Acknowledger::Acknowledger(const LinkParties& parties, std::function<Channels()> channels)
    : parties_(parties), channels_(std::move(channels)) {
  thread_ = start_prompt_thread([this] { run(); });
}

Acknowledger::~Acknowledger() { stop(); }

void Acknowledger::notify() {
  change_and_notify(mutex_, changed_, [this] { has_news_ = true; });
}

/// A link may be closed before its first connection is made.
void Acknowledger::close(double patience_s, const std::function<bool()>& is_over) noexcept {
  stop();
  const kernels::Deadline deadline = kernels::Deadline::after_s(patience_s);
  for (IncomingChannel* channel : channels_()) channel->settle(deadline);
  while (!tell(MessageKind::farewell) && !deadline.expired() && !is_over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void Acknowledger::stop() {
  change_and_notify(mutex_, changed_, [this] { is_stopped_ = true; });
  if (thread_.joinable()) thread_.join();
}

void Acknowledger::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopped_ || has_news_; });
    if (is_stopped_) return;
    has_news_ = false;
    lock.unlock();
    tell(MessageKind::acknowledgement);
    lock.lock();
  }
}

/// On the first connection that takes it. Where all are broken nothing is lost: a new one asks for it again.
bool Acknowledger::tell(MessageKind kind) {
  const Channels channels = channels_();
  std::vector<std::uint64_t> arrived;
  for (const IncomingChannel* channel : channels) arrived.push_back(channel->arrived());
  MessageHeader header;
  header.kind = static_cast<std::int32_t>(kind);
  header.bytes = header.payload_bytes = arrived.size() * sizeof(std::uint64_t);
  for (const IncomingChannel* channel : channels) {
    const std::shared_ptr<Connection> connection = channel->connection();
    if (!connection) continue;
    try {
      header.started_s = steady_now_s();
      connection->send(header, std::as_bytes(std::span(arrived)),
                       kernels::Deadline::after_s(parties_.deadline_s));
      return true;
    } catch (const std::exception&) {
      connection->shut_down();  // its reader makes it again
    }
  }
  return false;
}

}  // namespace tenax::comm
