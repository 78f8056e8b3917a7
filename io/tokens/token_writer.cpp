#include "io/tokens/token_writer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "io/checksum.hpp"
#include "io/output_place.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "io/tokens/token_hdf5_writer.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

/// Raw little-endian uint16 tokens: what nanoGPT and Megatron-like tools read. Says nothing about documents.
class TokenBinWriter final : public TokenWriter {
 public:
  TokenBinWriter(const std::filesystem::path& target, const std::filesystem::path& later)
      : TokenWriter(later, kBytes), file_(target, later) {}

 private:
  static constexpr std::int64_t kBytes = 2;  // of a token

  void write_block(std::span<const std::byte> block, std::int64_t first_token) override {
    file_.file().write(block, first_token * kBytes);
  }
  void write_documents(std::span<const std::int64_t>, std::int64_t) override {}
  void finish() override { file_.publish(); }

  AtomicFile file_;
};

constexpr std::int64_t kUint16Tokens = 65536;

template <class Stored>
void store(std::span<const std::int32_t> tokens, std::byte* out) {
  for (const std::int32_t token : tokens) {
    const auto stored = static_cast<Stored>(token);
    std::memcpy(out, &stored, sizeof stored);
    out += sizeof stored;
  }
}

/// Behind a link where a user has named it, not where the caller has.
std::filesystem::path place_of(const std::filesystem::path& target, const std::filesystem::path& later) {
  return target == later ? file_of_output(target) : target;
}

}  // namespace

std::unique_ptr<TokenWriter> TokenWriter::create(const std::filesystem::path& target,
                                                 const Tokenizer& tokenizer,
                                                 const std::vector<std::string>& sources,
                                                 const std::filesystem::path& later) {
  using kernels::Error, kernels::Scope;
  const std::string ending = later.extension().string();
  const bool fits_uint16 = tokenizer.vocab_size() <= kUint16Tokens;
  if (ending == ".h5")
    return std::make_unique<TokenHdf5Writer>(place_of(target, later), later, tokenizer, sources,
                                             fits_uint16 ? 2 : 4);
  if (ending != ".bin")
    throw Error(Scope::usage, "cannot write tokens to " + later.string() +
                                  ": its name must end in .h5 (HDF5) or .bin (little-endian uint16)");
  if (!fits_uint16)
    throw Error(Scope::usage, "cannot write tokens to " + later.string() + ": the vocabulary has " +
                                  std::to_string(tokenizer.vocab_size()) +
                                  " tokens, and the uint16 of a .bin file counts 65536; write a .h5 file");
  return std::make_unique<TokenBinWriter>(place_of(target, later), later);
}

TokenWriter::TokenWriter(std::filesystem::path later_name, std::size_t bytes_per_token)
    : later_name_(std::move(later_name)), bytes_per_token_(bytes_per_token) {
  block_.reserve(static_cast<std::size_t>(kBlockTokens) * bytes_per_token);
}

void TokenWriter::append(std::span<const std::int32_t> tokens) {
  if (begins_document_ && !tokens.empty()) {
    document_starts_.push_back(tokens_);
    ++documents_;
    begins_document_ = false;
    if (document_starts_.size() == static_cast<std::size_t>(kBlockTokens)) flush_documents();
  }
  while (!tokens.empty()) {
    const std::size_t stored = block_.size(), room = (block_.capacity() - stored) / bytes_per_token_;
    const auto part = tokens.first(std::min(room, tokens.size()));
    block_.resize(stored + part.size() * bytes_per_token_);
    bytes_per_token_ == 2 ? store<std::uint16_t>(part, &block_[stored])
                          : store<std::uint32_t>(part, &block_[stored]);
    tokens = tokens.subspan(part.size());
    tokens_ += static_cast<std::int64_t>(part.size());
    if (part.size() == room) flush_block();
  }
}

void TokenWriter::publish() {
  flush_block();
  flush_documents();
  finish();
}

void TokenWriter::flush_block() {
  const std::int64_t first_token = tokens_ - static_cast<std::int64_t>(block_.size() / bytes_per_token_);
  if (block_.empty()) return;
  const auto first_byte = static_cast<std::size_t>(first_token) * bytes_per_token_;
  const std::size_t length = static_cast<std::size_t>(kCheckedTokens) * bytes_per_token_;
  for (std::size_t at = 0; at < block_.size(); at += length) {
    const auto part = std::span(block_).subspan(at, std::min(length, block_.size() - at));
    checksums_.push_back(checksum_of_bytes(part, static_cast<std::int64_t>(first_byte + at)));
  }
  write_block(block_, first_token);
  block_.clear();
}

void TokenWriter::flush_documents() {
  if (document_starts_.empty()) return;
  write_documents(document_starts_, documents_ - static_cast<std::int64_t>(document_starts_.size()));
  document_starts_.clear();
}

}  // namespace tenax::io
