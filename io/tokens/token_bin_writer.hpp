// Raw little-endian uint16 tokens: what nanoGPT and Megatron-like tools read. Says nothing about documents.
#pragma once

#include "io/posix_file.hpp"
#include "io/tokens/token_writer.hpp"

namespace tenax::io {

class TokenBinWriter final : public TokenWriter {
 public:
  explicit TokenBinWriter(const std::filesystem::path& target) : TokenWriter(target, kBytes), file_(target) {}

 private:
  static constexpr std::int64_t kBytes = 2;  // of a token

  void write_block(std::span<const std::byte> block, std::int64_t first_token) override {
    file_.file().write(block, first_token * kBytes);
  }
  void write_documents(std::span<const std::int64_t>, std::int64_t) override {}
  void finish() override { file_.publish(); }

  AtomicFile file_;
};

}  // namespace tenax::io
