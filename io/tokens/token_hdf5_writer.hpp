// TokenHdf5Writer: writes the HDF5 token file of io/tokens/token_hdf5.hpp.
#pragma once

#include "io/tokens/token_writer.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {

/// Holds the process's only Hdf5Session during a call, not between calls.
class TokenHdf5Writer final : public TokenWriter {
 public:
  TokenHdf5Writer(const std::filesystem::path& target, const std::filesystem::path& later,
                  const Tokenizer& tokenizer, const std::vector<std::string>& sources,
                  std::size_t bytes_per_token);
  ~TokenHdf5Writer() override;

 private:
  struct File;

  void write_block(std::span<const std::byte> block, std::int64_t first_token) override;
  void write_documents(std::span<const std::int64_t> first_tokens, std::int64_t first_document) override;
  void finish() override;

  std::filesystem::path target_;
  TemporaryPath temporary_;
  std::unique_ptr<File> file_;
};

}  // namespace tenax::io
