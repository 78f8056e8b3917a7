// TokenSink takes the tokens of texts. TokenWriter is a token file that grows, and appears when it
// is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// One thread at a time. All throw Error(rank) if the tokens cannot be written.
class TokenSink {
 public:
  virtual ~TokenSink() = default;

  /// The next token begins a document. Changes nothing if the current document is empty.
  virtual void begin_document() = 0;
  virtual void append(std::span<const std::int32_t> tokens) = 0;
  /// Makes the file appear under its name, complete and on disk. The last call; without it nothing
  /// appears.
  virtual void publish() = 0;

  virtual std::int64_t tokens() const = 0;
  virtual std::int64_t documents() const = 0;
  /// The names of the files that publish() makes, for people.
  virtual std::string files() const = 0;
};

class TokenWriter : public TokenSink {
 public:
  /// The ending of `target` gives the format: .h5 (io/tokens/token_hdf5.hpp), or .bin, raw
  /// little-endian uint16. `sources` names the texts. Throws Error(usage) for another ending, and
  /// for a .bin if the vocabulary has more than 65536 tokens, and as file_of_output().
  static std::unique_ptr<TokenWriter> create(const std::filesystem::path& target, const Tokenizer& tokenizer,
                                             const std::vector<std::string>& sources) {
    return create(target, tokenizer, sources, target);
  }
  /// The same for a `target` that gets the name `later` from the caller. That one has the ending, and messages name it.
  static std::unique_ptr<TokenWriter> create(const std::filesystem::path& target, const Tokenizer& tokenizer,
                                             const std::vector<std::string>& sources,
                                             const std::filesystem::path& later);

  void begin_document() final { begins_document_ = true; }
  void append(std::span<const std::int32_t> tokens) final;
  void publish() final;
  std::int64_t tokens() const final { return tokens_; }
  std::int64_t documents() const final { return documents_; }
  std::string files() const final { return later_name_.string(); }

 protected:
  /// The tokens of a block. Only the last block is shorter.
  static constexpr std::int64_t kBlockTokens = 1 << 17;

  TokenWriter(std::filesystem::path later_name, std::size_t bytes_per_token);
  const std::filesystem::path& later_name() const { return later_name_; }  ///< for messages
  /// The checksums of each kCheckedTokens tokens. Their sum is the checksum of all.
  const std::vector<std::uint64_t>& checksums() const { return checksums_; }

 private:
  virtual void write_block(std::span<const std::byte> block, std::int64_t first_token) = 0;
  virtual void write_documents(std::span<const std::int64_t> first_tokens, std::int64_t first_document) = 0;
  virtual void finish() = 0;
  void flush_block();
  void flush_documents();

  std::filesystem::path later_name_;
  std::size_t bytes_per_token_;
  std::vector<std::byte> block_;
  std::vector<std::int64_t> document_starts_;  // not written yet
  bool begins_document_ = true;
  std::int64_t tokens_ = 0, documents_ = 0;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace tenax::io
