// On the wire: proof (32), length of the rest (4), mark (1: a text, or why the sender refuses), text. What a proof is of:
// the connection's request, then mark and text of every message so far, each after its length.
#include "comm/transport/proven_messages.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace tenax::comm {
namespace {

constexpr char kText = 'T', kRefusal = 'R';

}  // namespace

ProvenMessages::ProvenMessages(int socket, const Challenge& challenge, const ConnectionRequest& request,
                               std::string where, kernels::Deadline deadline)
    : socket_(socket), challenge_(challenge), where_(std::move(where)), deadline_(deadline) {
  const ConnectionRequest::Bytes bytes = request.bytes();
  said_.assign(bytes.begin(), bytes.end());
}

void ProvenMessages::send(const std::string& text) { send_marked(kText, text); }

void ProvenMessages::refuse(const std::string& reason) { send_marked(kRefusal, reason.substr(0, kMost)); }

void ProvenMessages::send_marked(char mark, const std::string& text) {
  assert(text.size() <= kMost);
  const std::string marked = mark + text;
  const auto length = static_cast<std::uint32_t>(marked.size());
  std::vector<std::byte> message(sizeof length + marked.size());
  std::memcpy(message.data(), &length, sizeof length);
  std::memcpy(message.data() + sizeof length, marked.data(), marked.size());
  said_.insert(said_.end(), message.begin(), message.end());
  const Challenge::Proof proof = challenge_.prove(said_);
  message.insert(message.begin(), proof.begin(), proof.end());
  write(message);
}

std::string ProvenMessages::receive() {
  Challenge::Proof proof{};
  std::uint32_t length = 0;
  read(proof);
  read(std::as_writable_bytes(std::span(&length, 1)));
  if (length < 1 || length > 1 + kMost) throw_link_error(where_, kNotOfThisJob);
  std::vector<std::byte> marked(length);
  read(marked);
  const auto begin = std::as_bytes(std::span(&length, 1));
  said_.insert(said_.end(), begin.begin(), begin.end());
  said_.insert(said_.end(), marked.begin(), marked.end());
  if (!challenge_.is_proven(said_, proof)) throw_link_error(where_, kNotOfThisJob);
  const std::string text(reinterpret_cast<const char*>(marked.data()) + 1, marked.size() - 1);
  if (marked.front() == static_cast<std::byte>(kRefusal)) throw_link_error(where_, "refused: " + text);
  return text;
}

void ProvenMessages::check() {
  if (has_more()) receive();
}

bool ProvenMessages::has_more() const {
  char next = 0;
  const ssize_t seen = recv(socket_, &next, 1, MSG_DONTWAIT | MSG_PEEK);
  if (seen == 0 || (seen < 0 && errno != EAGAIN && errno != EINTR))
    throw_link_error(where_, "the other end left in the middle of the handshake", seen == 0 ? 0 : errno);
  return seen > 0;
}

void ProvenMessages::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw_link_error(where_, "the other end left in the middle of the handshake", errno);
    } else if (!wait_for_socket(socket_, POLLOUT, deadline_)) {
      throw_link_error(where_, "the other end took nothing more of the handshake");
    }
  }
}

void ProvenMessages::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (!wait_for_socket(socket_, POLLIN, deadline_))
      throw_link_error(where_, "the other end did not go on with the handshake");
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      throw_link_error(where_, "the other end left in the middle of the handshake", got == 0 ? 0 : errno);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace tenax::comm
