#include "comm/transport/incoming_handshakes.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "comm/transport/outgoing_handshake.hpp"

namespace tenax::comm {
namespace {

constexpr double kForever_s = 1e9;

auto is_at(int socket) {
  return [socket](const IncomingHandshake& handshake) { return handshake.socket() == socket; };
}

}  // namespace

IncomingHandshakes::Accepted IncomingHandshakes::accept_from(const ListeningSocket& listener) {
  const bool has_room = handshakes_.size() < rules_.most || drop_oldest();
  FileDescriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    const bool nobody_is_there = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    return {.lacks_descriptors = !nobody_is_there && !drop_oldest()};
  }
  if (!has_room || !is_of_this_user(socket.get())) return {};
  handshakes_.emplace_back(std::move(socket), listener.address, Handshake(rules_.secret, rules_.me),
                           rules_.expects);
  return {.socket = handshakes_.back().socket()};
}

void IncomingHandshakes::advance(int socket, const Taker& take) {
  const auto found = std::find_if(handshakes_.begin(), handshakes_.end(), is_at(socket));
  if (found != handshakes_.end() && !goes_on(*found, take)) handshakes_.erase(found);
}

bool IncomingHandshakes::goes_on(IncomingHandshake& handshake, const Taker& take) const {
  try {
    const auto progress = handshake.advance();
    if (progress == IncomingHandshake::Progress::complete) take(handshake.take());
    return progress == IncomingHandshake::Progress::waiting;
  } catch (const std::exception&) {
    return false;  // the peer's own error says where
  }
}

void IncomingHandshakes::drop_expired() {
  while (!handshakes_.empty() && handshakes_.front().deadline().expired()) handshakes_.pop_front();
}

std::vector<int> IncomingHandshakes::sockets() const {
  std::vector<int> all;
  for (const IncomingHandshake& handshake : handshakes_) all.push_back(handshake.socket());
  return all;
}

bool IncomingHandshakes::has(int socket) const {
  return std::any_of(handshakes_.begin(), handshakes_.end(), is_at(socket));
}

kernels::Deadline IncomingHandshakes::deadline() const {
  return handshakes_.empty() ? kernels::Deadline::after_s(kForever_s) : handshakes_.front().deadline();
}

/// Of those that have proven nothing; false if there is none.
bool IncomingHandshakes::drop_oldest() {
  const auto oldest = std::find_if(handshakes_.begin(), handshakes_.end(),
                                   [](const IncomingHandshake& handshake) { return !handshake.is_proven(); });
  if (oldest == handshakes_.end()) return false;
  handshakes_.erase(oldest);
  return true;
}

}  // namespace tenax::comm
