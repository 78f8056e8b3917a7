#include "io/tokens/token_inspect.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <vector>

#include "io/checksum.hpp"
#include "io/posix_file.hpp"
#include "io/text.hpp"
#include "io/tokens/token_bin.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

bool is_bin(const fs::path& file) { return file.extension() == ".bin"; }
bool is_index(const fs::path& file) { return file.extension() == ".idx"; }

std::string bytes_line(const fs::path& file) {
  return listed("bytes", grouped(PosixFile::open_to_read(file).size()));
}

/// The names of the first texts, a line each.
std::string source_lines(const std::string& sources) {
  constexpr int kShown = 10;
  std::istringstream stream(sources);
  std::string lines;
  std::int64_t texts = 0;
  for (std::string name; std::getline(stream, name); ++texts)
    if (texts < kShown) lines += listed(texts == 0 ? "texts" : "", name);
  if (texts > kShown) lines += listed("", "and " + grouped(texts - kShown) + " more");
  return lines;
}

std::string describe_hdf5(const fs::path& file) {
  const TokenFileInfo info = read_token_file_info(file);
  verify_token_file(file);
  return file.string() + ": tokens of tenax tokenize, complete and undamaged\n" +
         listed("tokenizer", info.tokenizer) + listed("vocab_size", grouped(info.vocab_size)) +
         listed("tokens", grouped(info.tokens)) + listed("documents", grouped(info.documents)) +
         source_lines(info.sources) + bytes_line(file) +
         listed("checksum", checksum_text(info.checksum) + ", verified");
}

std::int32_t largest_of(const TokenFile& tokens) {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<std::int32_t> block(kBlock);
  std::int32_t largest = 0;
  for (std::int64_t at = 0; at < tokens.size(); at += kBlock) {
    block.resize(static_cast<std::size_t>(std::min(kBlock, tokens.size() - at)));
    tokens.read(at, block);
    largest = std::max(largest, *std::max_element(block.begin(), block.end()));
  }
  return largest;
}

std::string describe_bin(const fs::path& file) {
  const TokenBin bin = read_token_bin(file);
  const auto tokens = TokenFile::open(file, "bytes", {.seq_length = 0, .vocab_size = 0, .scan = false});
  const bool has_index = bin.documents >= 0;
  if (has_index) verify_megatron_index(megatron_index_of(file), PosixFile::open_to_read(file).size());
  return file.string() + ": tokens, " + bin.format + "; a .bin does not say whose\n" +
         listed("tokens", grouped(tokens->size())) + listed("largest token", grouped(largest_of(*tokens))) +
         listed("documents", has_index ? grouped(bin.documents) : "unknown") +
         (has_index ? listed("index", megatron_index_of(file).string()) : "") + bytes_line(file);
}

}  // namespace

bool may_be_token_file(const fs::path& file) {
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";
  if (is_bin(file) || is_index(file)) return true;
  std::error_code none;
  if (!fs::is_regular_file(file, none)) return false;  // to open a pipe would wait for its writer
  std::array<char, kHdf5.size()> head{};
  std::ifstream(file, std::ios::binary).read(head.data(), head.size());
  return std::string_view(head.data(), head.size()) == kHdf5;
}

std::string describe_token_file(const fs::path& file) {
  if (is_index(file)) return describe_bin(fs::path(file).replace_extension(".bin"));
  return is_bin(file) ? describe_bin(file) : describe_hdf5(file);
}

}  // namespace tenax::io
