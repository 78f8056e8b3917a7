#include "comm/verbs/verbs_listener.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "comm/transport/acceptor.hpp"
#include "comm/transport/outgoing_handshake.hpp"
#include "comm/transport/tcp_socket.hpp"
#include "comm/verbs/verbs_handshake.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kMostHandshakes = 16;
constexpr double kHandshake_s = 2;
constexpr double kAnswer_s = 0.1, kShareOfAnswer = 0.1;  // of the time there is, at least

std::string tcp_address(const std::string& address) {
  return kTcpPrefix + address.substr(std::string_view(kVerbsPrefix).size());
}
std::string verbs_address(const std::string& address) {
  return kVerbsPrefix + address.substr(std::string_view(kTcpPrefix).size());
}

/// The number that a purpose ends in; 0 where it ends in none.
std::size_t last_number(std::string_view purpose) {
  const std::size_t before = purpose.find_last_not_of("0123456789");
  return kernels::number_of<std::size_t>(purpose.substr(before + 1)).value_or(0);  // npos + 1 is 0
}

kernels::Deadline within(double seconds, kernels::Deadline deadline) {
  const auto own = kernels::Deadline::after_s(seconds);
  return own.when() < deadline.when() ? own : deadline;
}

/// An address at which nobody is does not use up the time that handshakes need: its peer may have another one.
kernels::Deadline within_answer(kernels::Deadline deadline) {
  const std::chrono::duration<double> left = deadline.when() - kernels::Deadline::Clock::now();
  return within(std::max(kAnswer_s, kShareOfAnswer * left.count()), deadline);
}

class VerbsListener final : public Listener {
 public:
  VerbsListener(const VerbsOptions& verbs, const TransportOptions& options, Identity me,
                PendingConnections& pending)
      : verbs_(verbs),
        secret_(options.secret),
        pending_(pending),
        book_(verbs.book ? verbs.book : std::make_shared<PathBook>(options.kind == TransportKind::automatic)),
        acceptor_(listen_on_interfaces(options.interfaces, me),
                  {secret_, me, IncomingHandshake::Expects::nothing, kMostHandshakes},
                  [this](AuthenticatedSocket peer) { accept_later(std::move(peer)); }) {}
  ~VerbsListener() override { is_over_ = true; }

  std::vector<std::string> addresses() const override {
    std::vector<std::string> all;
    for (const ListeningSocket& socket : acceptor_.sockets()) all.push_back(verbs_address(socket.address));
    return all;
  }
  bool can_reach(const std::string& address) const override { return address.starts_with(kVerbsPrefix); }

  std::unique_ptr<Connection> connect(const std::string& address, const ConnectionRequest& request,
                                      kernels::Deadline deadline) override;
  std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    return memory_->add(memory);
  }
  std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                             int dma_buf) override {
    return verbs_.gpu_direct ? memory_->add(memory, dma_buf) : nullptr;
  }

 private:
  void accept_later(AuthenticatedSocket peer);
  std::unique_ptr<Connection> accept(AuthenticatedSocket peer);
  /// Connections over a device that is lost are made again, over others.
  HandshakeEnd end(const std::vector<Port>& ports, Identity peer, const std::string& purpose) const {
    memory_->let_go_of_lost_devices();
    return {ports, {verbs_.ring_bytes}, verbs_.path, memory_, book_, peer, purpose, reaper_};
  }

  const VerbsOptions verbs_;
  const JobSecret secret_;
  PendingConnections& pending_;
  const std::shared_ptr<MemoryTable> memory_ = std::make_shared<MemoryTable>();
  const std::shared_ptr<PathBook> book_;
  const std::shared_ptr<Worker> reaper_ = std::make_shared<Worker>();
  std::atomic<bool> is_over_{false};
  // By the purposes' numbers, one handshake after the other: a peer that stops in the middle holds others of them up for 2 s.
  std::array<Worker, 4> accepting_;
  Acceptor acceptor_;
};

std::unique_ptr<Connection> VerbsListener::connect(const std::string& address,
                                                   const ConnectionRequest& request,
                                                   kernels::Deadline deadline) {
  const std::string where = plain_address(address);
  const std::vector<Port> ports = verbs_.ports();
  std::unique_ptr<VerbsConnection> connection;
  FileDescriptor socket = connect_and_prove(
      {secret_, request, where, deadline},
      [&] { return connect_tcp(tcp_address(address), within_answer(deadline)); },
      [&](int proven, const Challenge& challenge) {
        ProvenMessages messages(proven, challenge, request, where, within(kHandshake_s, deadline));
        connection = connect_over(messages, end(ports, request.to, request.purpose), address);
      });
  connection->attach(std::move(socket));
  return connection;
}

/// The acceptor's thread goes on at once. Where no thread is to be had the peer finds the connection closed, and comes again.
void VerbsListener::accept_later(AuthenticatedSocket peer) try {
  const auto waiting = std::make_shared<AuthenticatedSocket>(std::move(peer));
  accepting_[last_number(waiting->request.purpose) % accepting_.size()].add([this, waiting] {
    if (is_over_) return;
    try {
      admit(
          std::move(*waiting), [this](AuthenticatedSocket proven) { return accept(std::move(proven)); },
          pending_);
    } catch (const std::exception&) {
      // The peer has been told.
    }
  });
} catch (const kernels::Error&) {  // it ended with the job
}

std::unique_ptr<Connection> VerbsListener::accept(AuthenticatedSocket peer) {
  const std::string address = verbs_address(peer.address);
  const std::vector<Port> ports = verbs_.ports();
  ProvenMessages messages(peer.socket.get(), *peer.challenge, peer.request, plain_address(address),
                          kernels::Deadline::after_s(kHandshake_s));
  const ConnectionRequest request = peer.request;
  std::unique_ptr<VerbsConnection> connection =
      accept_over(messages, end(ports, request.from, request.purpose), address,
                  turn_of(verbs_.wanted, verbs_.first_turn, last_number(request.purpose)));
  connection->attach(std::move(peer.socket));
  return connection;
}

}  // namespace

std::unique_ptr<Listener> create_verbs_listener(const VerbsOptions& verbs, const TransportOptions& options,
                                                Identity me, PendingConnections& pending) {
  return std::make_unique<VerbsListener>(verbs, options, me, pending);
}

}  // namespace tenax::comm::verbs
