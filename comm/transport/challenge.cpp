// What is authenticated: a label of 16 bytes, the connecting end's nonce, the accepting end's, then the text.
#include "comm/transport/challenge.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kLabel = 16;
constexpr char kConnecting[] = "tenax connecting", kAccepting[] = "tenax accepting.",
               kMask[] = "tenax mask......";
static_assert(sizeof kConnecting == kLabel + 1 && sizeof kAccepting == kLabel + 1 &&
              sizeof kMask == kLabel + 1);

}  // namespace

Challenge::Challenge(const JobSecret& secret, ConnectionEnd end) : secret_(secret), end_(end) {
  fill_randomly(nonce_of_end_[index(end)]);
}

bool Challenge::is_proven(std::span<const std::byte> claim, std::span<const std::byte, kBytes> proof) const {
  const auto other = end_ == ConnectionEnd::connecting ? ConnectionEnd::accepting : ConnectionEnd::connecting;
  return CRYPTO_memcmp(proof_of(other, claim).data(), proof.data(), kBytes) == 0;
}

void Challenge::mask(std::span<std::byte> bytes) const {
  for (std::uint32_t block = 0; !bytes.empty(); ++block) {
    const Proof pad = authenticate(kMask, std::as_bytes(std::span(&block, 1)));
    const std::size_t count = std::min(bytes.size(), kBytes);
    for (std::size_t i = 0; i < count; ++i) bytes[i] ^= pad[i];
    bytes = bytes.subspan(count);
  }
}

Challenge::Proof Challenge::proof_of(ConnectionEnd end, std::span<const std::byte> claim) const {
  return authenticate(end == ConnectionEnd::connecting ? kConnecting : kAccepting, claim);
}

Challenge::Proof Challenge::authenticate(const char* label, std::span<const std::byte> text) const {
  std::vector<std::byte> whole(kLabel + 2 * kBytes + text.size());
  std::memcpy(whole.data(), label, kLabel);
  auto end = whole.begin() + kLabel;
  for (const Nonce& nonce : nonce_of_end_) end = std::copy(nonce.begin(), nonce.end(), end);
  std::copy(text.begin(), text.end(), end);
  Proof code{};
  unsigned bytes = 0;
  if (!HMAC(EVP_sha256(), secret_.bytes().data(), static_cast<int>(JobSecret::kBytes),
            reinterpret_cast<const unsigned char*>(whole.data()), whole.size(),
            reinterpret_cast<unsigned char*>(code.data()), &bytes) ||
      bytes != kBytes)
    throw kernels::Error(kernels::Scope::rank,
                         "libcrypto computes no HMAC-SHA-256 on this machine; look at its configuration "
                         "(openssl.cnf, OPENSSL_CONF)");
  return code;
}

}  // namespace tenax::comm
