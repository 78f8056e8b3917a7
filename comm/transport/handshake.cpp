// connecting                                  accepting
//   magic (8), nonce (32)                ->
//                                        <-     magic (8), nonce (32)
//   proof (32), request, masked (224)   ->
//                                        <-     proof (32); zeros = refused
//
// The connecting end says nothing of itself but a nonce before the other has shown that it speaks this language; who calls
// whom for what is seen by nobody who does not know the secret.
#include "comm/transport/handshake.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tenax::comm {
namespace {

constexpr std::size_t kMagic = 8, kHello = kMagic + Challenge::kBytes;
constexpr char kMagicText[] = "tenax 2\n";

}  // namespace

Handshake::Handshake(const JobSecret& secret, ConnectionRequest request)
    : challenge_(secret, ConnectionEnd::connecting),
      end_(ConnectionEnd::connecting),
      request_(std::move(request)) {}

Handshake::Handshake(const JobSecret& secret, Identity me)
    : challenge_(secret, ConnectionEnd::accepting), end_(ConnectionEnd::accepting), request_{me, {}, {}} {}

Handshake::Message Handshake::start() const {
  return end_ == ConnectionEnd::connecting ? hello() : Message{};
}

std::size_t Handshake::expected_bytes() const {
  if (state_ == State::awaiting_nonce) return kHello;
  return end_ == ConnectionEnd::connecting ? Challenge::kBytes : kMostBytes;
}

Handshake::Message Handshake::take(std::span<const std::byte> message) {
  assert(!is_over() && message.size() == expected_bytes());
  if (state_ == State::awaiting_nonce) {
    state_ = State::refused;
    if (std::memcmp(message.data(), kMagicText, kMagic) != 0) return {};
    Challenge::Nonce nonce;
    std::memcpy(nonce.data(), message.data() + kMagic, nonce.size());
    challenge_.set_other_nonce(nonce);
    state_ = State::awaiting_proof;
    return end_ == ConnectionEnd::connecting ? request_message() : hello();
  }
  if (end_ == ConnectionEnd::accepting) return check_request(message);
  const bool is_right = challenge_.is_proven(request_.bytes(), message.first<Challenge::kBytes>());
  state_ = is_right ? State::proven : State::refused;
  return {};
}

Handshake::Message Handshake::hello() const {
  Message message(kHello);
  std::memcpy(message.data(), kMagicText, kMagic);
  std::copy(challenge_.nonce().begin(), challenge_.nonce().end(), message.begin() + kMagic);
  return message;
}

Handshake::Message Handshake::request_message() {
  ConnectionRequest::Bytes claim = request_.bytes();
  const Challenge::Proof proof = challenge_.prove(claim);
  challenge_.mask(claim);
  Message message(kMostBytes);
  std::copy(proof.begin(), proof.end(), message.begin());
  std::copy(claim.begin(), claim.end(), message.begin() + Challenge::kBytes);
  return message;
}

Handshake::Message Handshake::check_request(std::span<const std::byte> message) {
  ConnectionRequest::Bytes claim{};
  std::copy(message.begin() + Challenge::kBytes, message.end(), claim.begin());
  challenge_.mask(claim);
  const auto request = challenge_.is_proven(claim, message.first<Challenge::kBytes>())
                           ? ConnectionRequest::parse(claim)
                           : std::nullopt;
  const bool is_for_me = request && request->to == request_.to;
  state_ = is_for_me ? State::proven : State::refused;
  if (!is_for_me) return Message(Challenge::kBytes);
  request_ = *request;
  const Challenge::Proof proof = challenge_.prove(claim);
  return {proof.begin(), proof.end()};
}

}  // namespace tenax::comm
