#include "io/tokens/held_tokens.hpp"

#include <algorithm>

#include "io/whole_file.hpp"

namespace tenax::io {
namespace {

constexpr std::size_t kMostInMemory = std::size_t{1} << 20;

std::int64_t offset_of(std::size_t tokens) {
  return static_cast<std::int64_t>(tokens * sizeof(std::int32_t));
}

}  // namespace

void HeldTokens::append(std::span<const std::int32_t> tokens) {
  in_memory_.insert(in_memory_.end(), tokens.begin(), tokens.end());
  if (in_memory_.size() >= kMostInMemory) write_to_file();
}

void HeldTokens::move_to(TokenSink& sink) {
  if (file_) read_from_file(sink);
  sink.append(in_memory_);
  in_memory_.clear();
}

void HeldTokens::write_to_file() {
  if (!file_) {
    const TemporaryPath name(temporary_name(target_));  // which goes at once
    PosixFile to_write = PosixFile::create_for(name.path(), target_);
    file_.emplace(File{std::move(to_write), PosixFile::open_to_read(name.path())});
  }
  file_->to_write.write(std::as_bytes(std::span(in_memory_)), offset_of(in_file_));
  in_file_ += in_memory_.size();
  in_memory_.clear();
}

void HeldTokens::read_from_file(TokenSink& sink) {
  std::vector<std::int32_t> block(std::min(in_file_, kMostInMemory));
  for (std::size_t at = 0; at < in_file_; at += block.size()) {
    const auto part = std::span(block).first(std::min(block.size(), in_file_ - at));
    file_->to_read.read(std::as_writable_bytes(part), offset_of(at));
    sink.append(part);
  }
  file_.reset();
  in_file_ = 0;
}

}  // namespace tenax::io
