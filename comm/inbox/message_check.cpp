#include "comm/inbox/message_check.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/buffers/buffer_directory.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::uint64_t kSkipped = std::uint64_t{64} << 10;  // bytes at a time

std::string fault_of_shared(const MessageHeader& header, const MessageRules& rules) {
  if (!rules.has_shared_buffers) return "names a shared buffer, though there are none";
  if (!SharedBufferId::parse(header.shared_buffer)) return "names a shared buffer that there is not";
  if (header.payload_bytes != 0) return "is in a shared buffer and follows as well";
  return header.bytes == 0 ? "is in a shared buffer and empty" : "";
}

}  // namespace

std::string fault_of(const MessageHeader& header, const MessageRules& rules) {
  if (header.tag < 0 || header.tag >= kMaxTag) return "has the tag " + std::to_string(header.tag);
  if (!std::isfinite(header.started_s) || !std::isfinite(header.late_s))
    return "has a time that is no number";
  if (header.shared_buffer != 0) return fault_of_shared(header, rules);
  if (header.payload_bytes == header.bytes || (header.payload_bytes == 0 && !rules.has_data)) return "";
  return "says that " + std::to_string(header.payload_bytes) + " of " + std::to_string(header.bytes) +
         " bytes follow";
}

std::string fault_of_counts(const MessageHeader& header) {
  if (header.payload_bytes % sizeof(std::uint64_t) == 0 &&
      header.payload_bytes <= kMostCounts * sizeof(std::uint64_t))
    return "";
  return "carries counts in " + std::to_string(header.payload_bytes) + " bytes";
}

void refuse_faulty(const std::string& fault, const std::string& where) {
  if (!fault.empty())
    throw kernels::Error(kernels::Scope::link,
                         where + ": a message " + fault + ": its sender is broken, or no rank of this run");
}

void skip_payload(std::uint64_t bytes, const std::function<void(std::span<std::byte>)>& read) {
  std::vector<std::byte> part(std::min(bytes, kSkipped));
  for (; bytes > 0; bytes -= part.size()) {
    part.resize(std::min(bytes, kSkipped));
    read(part);
  }
}

}  // namespace tenax::comm
