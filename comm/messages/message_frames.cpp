// A frame: mark (4 bytes), length of the text (4 bytes), text. Numbers lie as in memory: both ends have one byte order, as
// MPI's ranks do. The mark finds out a writer that has lost its place.
#include "comm/messages/message_frames.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using Head = std::array<std::uint32_t, 2>;
constexpr std::uint32_t kMark = 0x31786e74;  // "tnx1"

}  // namespace

void append_frame(std::string& bytes, std::string_view text) {
  if (text.size() > kMostMessageBytes)
    throw kernels::Error(kernels::Scope::job, "a message of " + std::to_string(text.size()) +
                                                  " bytes is too long: " + std::to_string(kMostMessageBytes) +
                                                  " is the most between a service and its clients");
  const Head head = {kMark, static_cast<std::uint32_t>(text.size())};
  bytes.append(reinterpret_cast<const char*>(head.data()), sizeof head).append(text);
}

std::optional<std::string> FrameReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  if (rest.size() < sizeof(Head)) return std::nullopt;
  Head head;
  std::memcpy(head.data(), rest.data(), sizeof head);
  if (head[0] != kMark || head[1] > kMostMessageBytes)
    throw kernels::Error(kernels::Scope::link, head[0] != kMark
                                                   ? "what it sends is no message"
                                                   : "it sends a message of " + std::to_string(head[1]) +
                                                         " bytes, which is too long");
  if (rest.size() < sizeof(Head) + head[1]) return std::nullopt;
  std::string text(rest.substr(sizeof(Head), head[1]));
  begin_ += sizeof(Head) + head[1];
  if (begin_ == bytes_.size() || begin_ >= kMostMessageBytes) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  return text;
}

}  // namespace tenax::comm
