#include "comm/verbs/verbs_connection.hpp"

#include <sstream>

namespace tenax::comm::verbs {
namespace {

constexpr double kClosing_s = 1;  // for what was sent to arrive
constexpr std::uint32_t kMost24Bits = 0xffffff;

}  // namespace

std::string EndAddress::text() const {
  std::ostringstream text;
  text << outgoing.number << ' ' << outgoing.first_packet << ' ' << incoming.number << ' '
       << incoming.first_packet << ' ' << ring.address << ' ' << ring.key;
  return text.str();
}

std::optional<EndAddress> EndAddress::parse(const std::string& text) {
  std::istringstream words(text);
  EndAddress end;
  std::string rest;
  words >> end.outgoing.number >> end.outgoing.first_packet >> end.incoming.number >>
      end.incoming.first_packet >> end.ring.address >> end.ring.key;
  const bool is_end = words && !(words >> rest);
  for (const QueuePairAddress& pair : {end.outgoing, end.incoming})
    if (pair.number > kMost24Bits || pair.first_packet > kMost24Bits) return std::nullopt;
  return is_end ? std::optional(end) : std::nullopt;
}

VerbsConnection::VerbsConnection(VerbsPath path, std::string address, std::shared_ptr<MemoryTable> memory)
    : path_(std::move(path)),
      address_(std::move(address)),
      memory_(std::move(memory)),
      peer_("verbs " + path_.here.name() + " - " + path_.there.name),
      outgoing_(path_.here, path_.ring_there, *memory_, peer_, path_.settings.silence_s),
      incoming_(path_.here, path_.ring_here, peer_, path_.settings.silence_s) {}

/// What was sent arrives first, unless somebody shut the connection down or the path is broken.
VerbsConnection::~VerbsConnection() {
  if (is_open_ && !peer_.is_shut_down() && outgoing_.finish_quietly(kernels::Deadline::after_s(kClosing_s)))
    peer_.say_goodbye(outgoing_.frames());
  shut_down();
}

EndAddress VerbsConnection::end() const {
  return {outgoing_.queue_pair().address(), incoming_.queue_pair().address(), incoming_.ring()};
}

void VerbsConnection::open(const EndAddress& other) {
  outgoing_.queue_pair().connect(path_.there, other.incoming, path_.settings);
  incoming_.queue_pair().connect(path_.there, other.outgoing, path_.settings);
  outgoing_.open(other.ring);
  is_open_ = true;
}

void VerbsConnection::send(const MessageHeader& header, std::span<const std::byte> payload,
                           kernels::Deadline deadline) {
  outgoing_.send(header, payload, deadline);
}

std::optional<MessageHeader> VerbsConnection::receive(kernels::Deadline deadline) {
  return incoming_.receive(deadline);
}

void VerbsConnection::receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) {
  incoming_.receive_payload(payload, deadline);
}

void VerbsConnection::check() const {
  if (peer_.is_shut_down()) throw_link_error(peer_.where(), "shut down");
  if (peer_.look() != PeerSocket::State::open)
    throw_link_error(peer_.where(), "the process at the other end has left");
}

void VerbsConnection::shut_down() noexcept {
  peer_.shut_down();
  outgoing_.queue_pair().break_off();
  incoming_.queue_pair().break_off();
}

}  // namespace tenax::comm::verbs
