// What comes from another process is looked at before anything is done with it, in every build: whoever is at the other end,
// a word of it must not reach beyond this process's tables, nor make it allocate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/connection.hpp"

namespace tenax::comm {

/// Of the link that a message came on.
struct MessageRules {
  bool has_data = true;             ///< tensors have bytes, which must come
  bool has_shared_buffers = false;  ///< they may come in buffers that both ends see
};

/// What is wrong with the header of a tensor's message, as the end of a sentence about it; empty if nothing.
std::string fault_of(const MessageHeader& header, const MessageRules& rules);

/// Counts of 64 bits are what an acknowledgement carries: at most kMostCounts of them.
inline constexpr std::size_t kMostCounts = 1024;
/// The same of a header of such a message; of its kind nothing is said.
std::string fault_of_counts(const MessageHeader& header);

/// Throws Error(link) that names `where`, unless `fault` is empty.
void refuse_faulty(const std::string& fault, const std::string& where);

/// Reads a payload that nobody wants, without room for it: `read` fills what it is given.
void skip_payload(std::uint64_t bytes, const std::function<void(std::span<std::byte>)>& read);

}  // namespace tenax::comm
