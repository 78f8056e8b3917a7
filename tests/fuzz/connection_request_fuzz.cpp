// What a new connection says: the first byte chooses whether the rest is a request as it is under its mask, or what reaches an
// end of a handshake. Nobody without the secret is proven, whatever is said.
#include <algorithm>

#include "comm/transport/handshake.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace tenax::fuzz {
namespace {

comm::ConnectionRequest request_to(comm::Identity to) { return {to, comm::Identity{}, "p0/0.1"}; }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_request(std::span<const std::byte> bytes) {
  comm::ConnectionRequest::Bytes whole{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), whole.size()), whole.begin());
  if (const auto request = comm::ConnectionRequest::parse(whole))
    require(request->bytes() == whole, "a request that is read has these bytes and no others");
}

void talk_to(comm::Handshake handshake, std::span<const std::byte> bytes) {
  while (!handshake.is_over() && bytes.size() >= handshake.expected_bytes()) {
    const std::size_t count = handshake.expected_bytes();
    handshake.take(bytes.first(count));
    bytes = bytes.subspan(count);
  }
  require(!handshake.is_proven(), "who does not know the secret is not proven");
}

}  // namespace

std::vector<std::string> seeds() {
  const comm::JobSecret secret = comm::JobSecret::draw();
  const comm::ConnectionRequest request = request_to({});
  comm::Handshake connecting(secret, request), accepting(secret, comm::Identity{});
  const auto hello = connecting.start(), answer = accepting.take(hello), claim = connecting.take(answer);
  const auto proof = accepting.take(claim);
  return {std::string(1, '\0') + text_of(request.bytes()), "\1" + text_of(hello) + text_of(claim),
          "\2" + text_of(answer) + text_of(proof)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const comm::JobSecret secret = comm::JobSecret::draw();
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) fuzz::read_request(bytes);
  if (data[0] % 3 == 1) fuzz::talk_to({secret, comm::Identity{}}, bytes);
  if (data[0] % 3 == 2) fuzz::talk_to({secret, fuzz::request_to({})}, bytes);
  return 0;
}
