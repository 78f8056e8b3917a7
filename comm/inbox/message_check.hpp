// Checks of headers that come from another process, made in every build before a header is used:
// nothing in it may reach beyond this process's tables, nor make it allocate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/connection.hpp"

namespace tenax::comm {

/// About the link that a message came on.
struct MessageRules {
  bool has_data = true;             ///< tensors have bytes, which must come
  bool has_shared_buffers = false;  ///< they may come in buffers that both ends see
};

/// The fault of a tensor message's header, as the end of a sentence about it; empty if there is
/// none.
std::string fault_of(const MessageHeader& header, const MessageRules& rules);

/// An acknowledgement carries at most kMostCounts counts of 64 bits.
inline constexpr std::size_t kMostCounts = 1024;
/// The same for an acknowledgement's header, but for its kind.
std::string fault_of_counts(const MessageHeader& header);

/// Throws Error(link) that names `where`, unless `fault` is empty.
void refuse_faulty(const std::string& fault, const std::string& where);

/// Reads and drops a payload, without memory for all of it.
void skip_payload(std::uint64_t bytes, const std::function<void(std::span<std::byte>)>& read);

}  // namespace tenax::comm
