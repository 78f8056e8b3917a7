// HeldTokens: tokens that wait until it is known which file they go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/posix_file.hpp"
#include "io/tokens/token_writer.hpp"

namespace tenax::io {

/// Keeps some megabytes in memory. What is more lies beside `target`, in a file without a name, of
/// which nothing stays. Throws Error(rank), which names `target`, where the disk is full.
class HeldTokens {
 public:
  explicit HeldTokens(std::filesystem::path target) : target_(std::move(target)) {}

  std::size_t size() const { return in_file_ + in_memory_.size(); }
  void append(std::span<const std::int32_t> tokens);
  /// In their order. Then there are none.
  void move_to(TokenSink& sink);

 private:
  struct File {
    PosixFile to_write, to_read;
  };
  void write_to_file();
  void read_from_file(TokenSink& sink);

  std::filesystem::path target_;
  std::optional<File> file_;
  std::size_t in_file_ = 0;  // those before the ones in memory
  std::vector<std::int32_t> in_memory_;
};

}  // namespace tenax::io
