// Frames: how messages lie in the stream of bytes between a message server and its clients.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenax::comm {

/// An epoch of 100 000 ranks with the addresses of each takes 5 MB, and more where ranks have several.
inline constexpr std::size_t kMostMessageBytes = std::size_t{16} << 20;

/// Appends `text` as a frame to `bytes`. Throws Error(job) when it is longer than kMostMessageBytes.
void append_frame(std::string& bytes, std::string_view text);

/// Takes a stream apart into messages. Bytes in, texts out. Thread rule: one thread at a time.
class FrameReader {
 public:
  void add(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole message; nothing until more bytes have come. Throws Error(link) when what has
  /// come is no frame, or is one of a message that is too long: the rest of the stream is no use.
  std::optional<std::string> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // of the next frame in it
};

}  // namespace tenax::comm
