// The HDF5 token file of io/tokens/token_file.hpp.
#pragma once

#include "io/hdf5_handle.hpp"
#include "io/posix_file.hpp"
#include "io/tokens/token_writer.hpp"

namespace tenax::io {

/// Holds the process's only Hdf5Session while it writes, not between calls.
class TokenHdf5Writer final : public TokenWriter {
 public:
  TokenHdf5Writer(const std::filesystem::path& target, const Tokenizer& tokenizer,
                  const std::vector<std::string>& sources, std::size_t bytes_per_token);
  ~TokenHdf5Writer() override;

 private:
  struct File;

  void write_block(std::span<const std::byte> block, std::int64_t first_token) override;
  void write_documents(std::span<const std::int64_t> first_tokens, std::int64_t first_document) override;
  void finish() override;

  TemporaryPath temporary_;
  std::unique_ptr<File> file_;
};

}  // namespace tenax::io
