#include "comm/transport/greeting.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <random>

namespace tenax::comm {
namespace {

constexpr std::array<char, 8> kMagic = {'t', 'e', 'n', 'a', 'x', ' ', '1', '\n'};

}  // namespace

Identity Identity::random() {
  std::random_device device;
  Identity identity;
  identity.value_ = (std::uint64_t{device()} << 32) | device();
  return identity;
}

std::optional<Identity> Identity::of_address(const std::string& address) {
  const std::size_t mark = address.rfind('#');
  if (mark == std::string::npos || address.size() - mark != 17) return std::nullopt;
  const std::string digits = address.substr(mark + 1);
  if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  Identity identity;
  identity.value_ = std::stoull(digits, nullptr, 16);
  return identity;
}

std::string Identity::suffix() const {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "#%016llx", static_cast<unsigned long long>(value_));
  return text.data();
}

std::string plain_address(const std::string& address) { return address.substr(0, address.rfind('#')); }

Greeting::Greeting(Identity its_to, Identity its_from, const std::string& its_purpose)
    : magic(kMagic),
      to(its_to),
      from(its_from),
      purpose_bytes(static_cast<std::uint32_t>(its_purpose.size())) {
  assert(its_purpose.size() <= kMaxPurpose);
  std::copy(its_purpose.begin(), its_purpose.end(), purpose.begin());
}

bool Greeting::is_meant_for(Identity me) const {
  return magic == kMagic && to == me && purpose_bytes <= kMaxPurpose;
}

}  // namespace tenax::comm
