#include "tests/verbs/withholding_transport.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/delegates/channel_observer.hpp"
#include "comm/forwarding_connection.hpp"

namespace tenax::comm {
namespace {

bool is(const MessageHeader& header, MessageKind kind) {
  return header.kind == static_cast<std::int32_t>(kind);
}

}  // namespace

/// What the connections share.
class WithholdingTransport::Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    has_withheld_ = false;
  }
  bool has_withheld() const {
    const std::lock_guard lock(mutex_);
    return has_withheld_;
  }
  /// Whether an acknowledgement may leave; `counts`: what it says has arrived.
  bool lets_pass(std::span<const std::byte> counts) {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      told_.assign(counts.begin(), counts.end());
      return true;
    }
    has_withheld_ = has_withheld_ || !std::ranges::equal(counts, told_);
    return false;
  }
  std::uint64_t repeated() const {
    const std::lock_guard lock(mutex_);
    return repeated_;
  }
  /// A message begins to arrive.
  void begin(const std::string& purpose, std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (sequence >= next_[purpose]) return;
    ++repeated_;
    is_closed_ = false;
  }
  /// It has arrived.
  void end(const std::string& purpose, std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& next = next_[purpose];
    next = std::max(next, sequence + 1);
  }

 private:
  mutable std::mutex mutex_;
  bool is_closed_ = false, has_withheld_ = false;
  std::uint64_t repeated_ = 0;
  std::vector<std::byte> told_;
  std::map<std::string, std::uint64_t> next_;  // of each purpose: the first sequence number that has not come
};

class WithholdingTransport::Withholding final : public ForwardingConnection {
 public:
  Withholding(std::unique_ptr<Connection> inner, std::shared_ptr<Gate> gate, std::string purpose)
      : ForwardingConnection(std::move(inner)), gate_(std::move(gate)), purpose_(std::move(purpose)) {}

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    if (!is(header, MessageKind::acknowledgement) || gate_->lets_pass(payload))
      inner().send(header, payload, deadline);
  }
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    if (const auto arrived = std::exchange(arriving_, std::nullopt)) gate_->end(purpose_, *arrived);
    const auto header = inner().receive(deadline);
    if (header && is(*header, MessageKind::data)) {
      gate_->begin(purpose_, header->sequence);
      arriving_ = header->sequence;
    }
    return header;
  }

 private:
  const std::shared_ptr<Gate> gate_;
  const std::string purpose_;
  std::optional<std::uint64_t> arriving_;  // until the next one is asked for
};

WithholdingTransport::WithholdingTransport(std::unique_ptr<Transport> inner)
    : ForwardingTransport(std::move(inner)), gate_(std::make_shared<Gate>()) {}

WithholdingTransport::~WithholdingTransport() = default;

void WithholdingTransport::withhold() { gate_->close(); }

bool WithholdingTransport::has_withheld() const { return gate_->has_withheld(); }

std::uint64_t WithholdingTransport::repeated() const { return gate_->repeated(); }

std::unique_ptr<Connection> WithholdingTransport::wrap(std::unique_ptr<Connection> connection, const Peer&,
                                                       const std::string& purpose) {
  return std::make_unique<Withholding>(std::move(connection), gate_, purpose);
}

}  // namespace tenax::comm
