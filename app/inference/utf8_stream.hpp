// Utf8Stream: text for people out of bytes that come in pieces.
#pragma once

#include <string>
#include <string_view>

namespace tenax::app {

/// Gives back valid UTF-8, each character in one piece: its first bytes wait for the others. Bytes that are no UTF-8
/// become U+FFFD, one for each longest beginning of a character (Unicode 15, section 3.9, and Python's "replace").
class Utf8Stream {
 public:
  std::string add(std::string_view bytes);
  /// What still waits, as U+FFFD. The stream is then as new.
  std::string finish();

 private:
  std::string waiting_;  // the beginning of a character
};

}  // namespace tenax::app
