// What a new connection says first. Both ends are processes of one run; anything else that finds the port is refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tenax::comm {

/// Names one transport of one process: random, so that an address that another process took over, or that means another
/// host there (127.0.0.1), does not lead to a mix-up.
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

inline constexpr std::size_t kMaxPurpose = 200;

/// As it travels; both ends have one byte order, as MPI's ranks do.
struct Greeting {
  std::array<char, 8> magic{};
  Identity to, from;
  std::uint32_t purpose_bytes = 0;
  std::array<char, kMaxPurpose> purpose{};
  std::uint32_t unused = 0;

  Greeting() = default;
  Greeting(Identity its_to, Identity its_from, const std::string& its_purpose);
  bool is_meant_for(Identity me) const;
  std::string purpose_text() const { return {purpose.data(), purpose_bytes}; }
};

/// The accepting end's answer, one byte; a refused connection is closed without one.
inline constexpr char kWelcome = 'W';

}  // namespace tenax::comm
