// Who calls whom for what: the claim that a new connection is proven with (handshake.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tenax::comm {

enum class ConnectionEnd { connecting, accepting };

/// Names one transport of one process: random, so that an address that another process took over, or that means another
/// host there (127.0.0.1), does not lead to a mix-up. Known to whoever knows the address.
class Identity {
 public:
  static Identity random();
  /// The end of an address; nothing if it has none.
  static std::optional<Identity> of_address(const std::string& address);
  std::string suffix() const;  ///< "#0123456789abcdef"
  auto operator<=>(const Identity&) const = default;

 private:
  std::uint64_t value_ = 0;
};

/// An address without its identity, for people.
std::string plain_address(const std::string& address);

struct ConnectionRequest {
  static constexpr std::size_t kMostPurpose = 200, kBytes = 224;
  using Bytes = std::array<std::byte, kBytes>;

  Identity to, from;
  std::string purpose;  ///< at most kMostPurpose bytes

  /// As it travels; both ends have one byte order, as MPI's ranks do.
  Bytes bytes() const;
  /// Nothing where no request has these bytes.
  static std::optional<ConnectionRequest> parse(std::span<const std::byte, kBytes> bytes);
  bool operator==(const ConnectionRequest&) const = default;
};

}  // namespace tenax::comm
