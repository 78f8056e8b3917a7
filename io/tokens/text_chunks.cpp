#include "io/tokens/text_chunks.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::io {

using kernels::Error;
using kernels::Scope;

TextChunks::TextChunks(const std::filesystem::path& file, const Tokenizer& tokenizer)
    : file_(PosixFile::open_stream(file)), tokenizer_(tokenizer) {}

std::string TextChunks::next() {
  std::size_t wanted = kChunkBytes;
  while (true) {
    while (!at_end_ && text_.size() < wanted) fill();
    const std::size_t length = at_end_ ? text_.size() : tokenizer_.last_cut(text_);
    if (length > 0 || at_end_) {
      std::string rest = text_.substr(length);
      text_.resize(length);
      return std::exchange(text_, std::move(rest));
    }
    if (wanted >= kLongestWord)
      throw Error(Scope::rank, file_.path().string() + ": a word of more than " +
                                   std::to_string(kLongestWord >> 20) +
                                   " MiB without any end: is it a text?");
    wanted *= 2;
  }
}

void TextChunks::fill() {
  const std::size_t before = text_.size();
  text_.resize(before + kChunkBytes);
  ssize_t count = 0;
  do {
    count = ::read(file_.descriptor(), text_.data() + before, kChunkBytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0)
    throw Error(Scope::rank,
                "cannot read " + file_.path().string() + ": " + std::generic_category().message(errno));
  text_.resize(before + static_cast<std::size_t>(count));
  at_end_ = count == 0;
}

}  // namespace tenax::io
