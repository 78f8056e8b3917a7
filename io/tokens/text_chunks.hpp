// TextChunks: a text file, or a pipe, in chunks that can be tokenized independently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/posix_file.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// One thread at a time.
class TextChunks {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  /// A chunk has room for its longest word. A longer word than this is refused.
  static constexpr std::size_t kLongestWord = std::size_t{1} << 28;

  /// `tokenizer` knows where texts may be cut, and must outlive this. Throws Error(rank) if the
  /// file cannot be opened.
  TextChunks(const std::filesystem::path& file, const Tokenizer& tokenizer);

  /// The next chunk; empty at the end. Throws Error(rank) that names the file if it cannot be read.
  std::string next();

 private:
  void fill();

  PosixFile file_;
  const Tokenizer& tokenizer_;
  std::string text_;  // read, not returned yet
  bool at_end_ = false;
};

}  // namespace tenax::io
