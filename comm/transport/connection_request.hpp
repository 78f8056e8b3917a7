// ConnectionRequest: who connects to whom, for what purpose. Both ends of a handshake prove that
// they mean the same request (handshake.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tenax::comm {

enum class ConnectionEnd { connecting, accepting };

/// Names one transport of one process. It is random: an address that another process took over, or
/// that means another host there (127.0.0.1), is found out. Whoever knows the address knows it.
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
  /// Nothing if they are no request's bytes.
  static std::optional<ConnectionRequest> parse(std::span<const std::byte, kBytes> bytes);
  bool operator==(const ConnectionRequest&) const = default;
};

}  // namespace tenax::comm
