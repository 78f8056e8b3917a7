// A request's bytes: to (8), from (8), the length of the purpose (8), the purpose, zeros.
#include "comm/transport/connection_request.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>

#include "comm/transport/job_secret.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kHead = 24;
static_assert(kHead + ConnectionRequest::kMostPurpose == ConnectionRequest::kBytes && sizeof(Identity) == 8);

}  // namespace

Identity Identity::random() {
  Identity identity;
  fill_randomly(std::as_writable_bytes(std::span(&identity.value_, 1)));
  return identity;
}

std::optional<Identity> Identity::of_address(const std::string& address) {
  const std::size_t mark = address.rfind('#');
  if (mark == std::string::npos || address.size() - mark != 17) return std::nullopt;
  const std::string digits = address.substr(mark + 1);
  if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  Identity identity;
  identity.value_ = kernels::number_of<std::uint64_t>(digits, 16).value();
  return identity;
}

std::string Identity::suffix() const {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "#%016llx", static_cast<unsigned long long>(value_));
  return text.data();
}

std::string plain_address(const std::string& address) { return address.substr(0, address.rfind('#')); }

ConnectionRequest::Bytes ConnectionRequest::bytes() const {
  assert(purpose.size() <= kMostPurpose);
  Bytes bytes{};
  const std::uint64_t length = purpose.size();
  std::memcpy(bytes.data(), &to, 8);
  std::memcpy(bytes.data() + 8, &from, 8);
  std::memcpy(bytes.data() + 16, &length, 8);
  std::memcpy(bytes.data() + kHead, purpose.data(), purpose.size());
  return bytes;
}

std::optional<ConnectionRequest> ConnectionRequest::parse(std::span<const std::byte, kBytes> bytes) {
  ConnectionRequest request;
  std::uint64_t length = 0;
  std::memcpy(&request.to, bytes.data(), 8);
  std::memcpy(&request.from, bytes.data() + 8, 8);
  std::memcpy(&length, bytes.data() + 16, 8);
  if (length > kMostPurpose) return std::nullopt;
  const auto text = bytes.subspan(kHead, length), rest = bytes.subspan(kHead + length);
  if (std::any_of(rest.begin(), rest.end(), [](std::byte byte) { return byte != std::byte{0}; }))
    return std::nullopt;
  request.purpose.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return request;
}

}  // namespace tenax::comm
