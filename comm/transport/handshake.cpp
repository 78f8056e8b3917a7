// connecting                                  accepting
//   magic (8), nonce (32)                ->
//                                        <-     magic (8), nonce (32)
//   proof (32), greeting, masked (224)   ->
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

Handshake::Handshake(const JobSecret& secret, Greeting greeting)
    : challenge_(secret, ConnectionEnd::connecting),
      end_(ConnectionEnd::connecting),
      greeting_(std::move(greeting)) {}

Handshake::Handshake(const JobSecret& secret, Identity me)
    : challenge_(secret, ConnectionEnd::accepting), end_(ConnectionEnd::accepting), greeting_{me, {}, {}} {}

Handshake::Message Handshake::start() const {
  return end_ == ConnectionEnd::connecting ? hello() : Message{};
}

std::size_t Handshake::expected_bytes() const {
  if (state_ == State::hearing_nonce) return kHello;
  return end_ == ConnectionEnd::connecting ? Challenge::kBytes : kMostBytes;
}

Handshake::Message Handshake::take(std::span<const std::byte> message) {
  assert(!is_over() && message.size() == expected_bytes());
  if (state_ == State::hearing_nonce) {
    state_ = State::refused;
    if (std::memcmp(message.data(), kMagicText, kMagic) != 0) return {};
    Challenge::Nonce nonce;
    std::memcpy(nonce.data(), message.data() + kMagic, nonce.size());
    challenge_.set_other_nonce(nonce);
    state_ = State::hearing_proof;
    return end_ == ConnectionEnd::connecting ? introduce() : hello();
  }
  if (end_ == ConnectionEnd::accepting) return examine(message);
  const bool is_right = challenge_.is_proven(greeting_.bytes(), message.first<Challenge::kBytes>());
  state_ = is_right ? State::proven : State::refused;
  return {};
}

Handshake::Message Handshake::hello() const {
  Message message(kHello);
  std::memcpy(message.data(), kMagicText, kMagic);
  std::copy(challenge_.nonce().begin(), challenge_.nonce().end(), message.begin() + kMagic);
  return message;
}

Handshake::Message Handshake::introduce() {
  Greeting::Bytes claim = greeting_.bytes();
  const Challenge::Proof proof = challenge_.prove(claim);
  challenge_.mask(claim);
  Message message(kMostBytes);
  std::copy(proof.begin(), proof.end(), message.begin());
  std::copy(claim.begin(), claim.end(), message.begin() + Challenge::kBytes);
  return message;
}

Handshake::Message Handshake::examine(std::span<const std::byte> introduction) {
  Greeting::Bytes claim{};
  std::copy(introduction.begin() + Challenge::kBytes, introduction.end(), claim.begin());
  challenge_.mask(claim);
  const auto greeting = challenge_.is_proven(claim, introduction.first<Challenge::kBytes>())
                            ? Greeting::parse(claim)
                            : std::nullopt;
  const bool is_for_me = greeting && greeting->to == greeting_.to;
  state_ = is_for_me ? State::proven : State::refused;
  if (!is_for_me) return Message(Challenge::kBytes);
  greeting_ = *greeting;
  const Challenge::Proof proof = challenge_.prove(claim);
  return {proof.begin(), proof.end()};
}

}  // namespace tenax::comm
