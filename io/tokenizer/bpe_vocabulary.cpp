#include "io/tokenizer/bpe_vocabulary.hpp"

#include <fstream>
#include <iterator>
#include <unordered_map>

#include "io/json_parse.hpp"
#include "io/text.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using TokenOfBytes = std::unordered_map<std::string, std::int32_t>;

[[noreturn]] void fail_to_read(const fs::path& file, const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, "vocabulary file " + file.string() + ": " + what);
}

std::string utf8(unsigned code_point) {  // below 0x800
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0U | code_point >> 6), static_cast<char>(0x80U | (code_point & 0x3FU))};
}

bool is_printable(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::unordered_map<std::string, char> byte_of_letter() {
  std::unordered_map<std::string, char> bytes;
  for (unsigned byte = 0; byte < 0x100; ++byte)
    bytes.emplace(spelled_byte(static_cast<unsigned char>(byte)), static_cast<char>(byte));
  return bytes;
}

class Spelling {
 public:
  /// The bytes that `spelled` stands for; nothing if it leaves the alphabet.
  std::optional<std::string> bytes_of(std::string_view spelled) const {
    std::string bytes;
    while (!spelled.empty()) {
      const std::size_t length = static_cast<unsigned char>(spelled.front()) < 0x80 ? 1 : 2;
      const auto letter = byte_of_letter_.find(std::string(spelled.substr(0, length)));
      if (letter == byte_of_letter_.end()) return {};
      bytes += letter->second;
      spelled.remove_prefix(length);
    }
    return bytes;
  }

 private:
  std::unordered_map<std::string, char> byte_of_letter_ = byte_of_letter();
};

std::ifstream open(const fs::path& file) {
  std::error_code none;
  std::ifstream stream;
  if (fs::is_regular_file(file, none))
    stream.open(file, std::ios::binary);  // a pipe would wait for its writer
  if (!stream.is_open())
    fail_to_read(file, "cannot read it; the folder must hold GPT-2's encoder.json and vocab.bpe");
  return stream;
}

nlohmann::json read_json(const fs::path& file) {
  auto stream = open(file);
  ParsedJson parsed = parse_json(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (!parsed.fault.empty()) fail_to_read(file, parsed.fault);
  if (!parsed.value.is_object() || parsed.value.empty())
    fail_to_read(file, "not a JSON object of token numbers");
  return std::move(parsed.value);
}

void read_tokens(BpeVocabulary& vocabulary, const fs::path& file, const Spelling& spelling) {
  const nlohmann::json numbers = read_json(file);
  vocabulary.bytes_of_token.resize(numbers.size());
  for (const auto& [spelled, number] : numbers.items()) {
    const auto bytes = spelling.bytes_of(spelled);
    if (!bytes || bytes->empty())
      fail_to_read(file, "\"" + excerpt(spelled) + "\" is not spelled in GPT-2's alphabet of bytes");
    if (!number.is_number_unsigned() || number.get<std::size_t>() >= numbers.size())
      fail_to_read(file, "the number of \"" + excerpt(spelled) + "\" is not one of 0 to " +
                             std::to_string(numbers.size() - 1));
    std::string& entry = vocabulary.bytes_of_token[number.get<std::size_t>()];
    if (!entry.empty()) fail_to_read(file, "two tokens have the number " + number.dump());
    entry = *bytes;
  }
}

TokenOfBytes invert(const BpeVocabulary& vocabulary) {
  TokenOfBytes tokens;
  for (std::size_t token = 0; token < vocabulary.bytes_of_token.size(); ++token)
    tokens.emplace(vocabulary.bytes_of_token[token], static_cast<std::int32_t>(token));
  return tokens;
}

void find_bytes(BpeVocabulary& vocabulary, const fs::path& file, const TokenOfBytes& token_of_bytes) {
  for (unsigned byte = 0; byte < 0x100; ++byte) {
    const auto entry = token_of_bytes.find(std::string(1, static_cast<char>(byte)));
    if (entry == token_of_bytes.end())
      fail_to_read(file, "there is no token for byte " + std::to_string(byte));
    vocabulary.token_of_byte[byte] = entry->second;
  }
  if (const auto entry = token_of_bytes.find(std::string(kEndOfText)); entry != token_of_bytes.end())
    vocabulary.end_of_text = entry->second;
}

/// Reads vocab.bpe; which tokens exist is known.
class MergesReader {
 public:
  MergesReader(const BpeVocabulary& vocabulary, const TokenOfBytes& token_of_bytes, const Spelling& spelling)
      : token_of_bytes_(token_of_bytes), spelling_(spelling), is_made_(vocabulary.bytes_of_token.size()) {
    for (const std::int32_t token : vocabulary.token_of_byte)
      is_made_[static_cast<std::size_t>(token)] = true;
  }

  std::vector<BpeMerge> read(const fs::path& file) {
    auto stream = open(file);
    std::vector<BpeMerge> merges;
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      if (++number == 1 && line.starts_with("#version")) continue;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      const auto merge = merge_of(line);
      if (!merge)
        fail_to_read(file, "line " + std::to_string(number) +
                               " does not merge two tokens that are there by then into one");
      merges.push_back(*merge);
    }
    return merges;
  }

 private:
  std::optional<BpeMerge> merge_of(const std::string& line) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return {};
    const auto left = spelling_.bytes_of(std::string_view(line).substr(0, space));
    const auto right = spelling_.bytes_of(std::string_view(line).substr(space + 1));
    if (!left || !right) return {};
    const BpeMerge merge{token(*left), token(*right), token(*left + *right)};
    // What a merge makes must not be of use before it: then the order in which equal pairs merge does not matter.
    if (!is_made(merge.left) || !is_made(merge.right) || merge.merged < 0 || is_made(merge.merged)) return {};
    is_made_[static_cast<std::size_t>(merge.merged)] = true;
    return merge;
  }

  std::int32_t token(const std::string& bytes) const {
    const auto entry = token_of_bytes_.find(bytes);
    return entry == token_of_bytes_.end() ? -1 : entry->second;
  }
  bool is_made(std::int32_t token) const { return token >= 0 && is_made_[static_cast<std::size_t>(token)]; }

  const TokenOfBytes& token_of_bytes_;
  const Spelling& spelling_;
  std::vector<bool> is_made_;
};

}  // namespace

// Both files' alphabet: printable Latin-1 characters for themselves, the other bytes in their order from U+0100 on.
std::string spelled_byte(unsigned char byte) {
  if (is_printable(byte)) return utf8(byte);
  unsigned letter = 0x100;
  for (unsigned before = 0; before < byte; ++before) letter += is_printable(before) ? 0 : 1;
  return utf8(letter);
}

BpeFiles bpe_files_in(const fs::path& folder) {
  const BpeFiles openai{folder / "encoder.json", folder / "vocab.bpe"},
      hugging_face{folder / "vocab.json", folder / "merges.txt"};
  std::error_code none;
  const bool are_hugging_faces = !fs::exists(openai.tokens, none) && fs::exists(hugging_face.tokens, none) &&
                                 fs::exists(hugging_face.merges, none);
  return are_hugging_faces ? hugging_face : openai;
}

BpeVocabulary read_bpe_vocabulary(const fs::path& folder) {
  const Spelling spelling;
  BpeVocabulary vocabulary;
  const auto [tokens_file, merges_file] = bpe_files_in(folder);
  read_tokens(vocabulary, tokens_file, spelling);
  const TokenOfBytes token_of_bytes = invert(vocabulary);
  find_bytes(vocabulary, tokens_file, token_of_bytes);
  vocabulary.merges = MergesReader(vocabulary, token_of_bytes, spelling).read(merges_file);
  return vocabulary;
}

}  // namespace tenax::io
