// ShardedTokenWriter: many token files instead of one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/tokens/held_tokens.hpp"
#include "io/tokens/token_writer.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {

/// Writes NAME-00000.h5, NAME-00001.h5, … of at most `shard_tokens` tokens each. A document begins
/// the next file if the current one has no room for it. Only a document longer than a file is cut,
/// where each file is full. Memory: some megabytes, however long documents are.
class ShardedTokenWriter final : public TokenSink {
 public:
  /// `target` is NAME.h5 or NAME.bin. `tokenizer` must outlive this. Throws as TokenWriter::create,
  /// and Error(rank) if such files exist: some of a longer set would stay. Removes what a killed one left of the set.
  ShardedTokenWriter(std::filesystem::path target, const Tokenizer& tokenizer,
                     std::vector<std::string> sources, std::int64_t shard_tokens);

  void begin_document() override { begins_document_ = true; }
  void append(std::span<const std::int32_t> tokens) override;
  void publish() override;
  std::int64_t tokens() const override { return tokens_; }
  std::int64_t documents() const override { return documents_; }
  std::string files() const override;

 private:
  void write(std::span<const std::int32_t> tokens);
  void write_held();
  std::size_t room() const;  ///< in the current shard, in tokens
  void begin_shard();
  void end_shard();
  void next_shard();

  std::filesystem::path target_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> sources_;
  std::size_t shard_tokens_;
  std::vector<std::unique_ptr<TemporaryPath>>
      shards_;  // whole, but for the current one, under names of their own
  std::unique_ptr<TokenWriter> current_;
  HeldTokens held_;  // of the current document, while the current shard has others and may have room for it
  bool is_held_ = false;  // whether it is such a document; else it is written as it comes
  bool begins_document_ = true;
  std::int64_t tokens_ = 0, documents_ = 0;
};

}  // namespace tenax::io
