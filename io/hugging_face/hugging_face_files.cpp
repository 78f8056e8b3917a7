#include "io/hugging_face/hugging_face_files.hpp"

#include <nlohmann/json.hpp>

#include "io/posix_file.hpp"
#include "io/tokenizer/bpe_vocabulary.hpp"

namespace tenax::io {
namespace {

using nlohmann::ordered_json;

std::string text_of(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_to_read(path);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

std::string vocabulary_of_bytes() {
  ordered_json vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary[spelled_byte(static_cast<unsigned char>(byte))] = byte;
  return vocabulary.dump() + "\n";
}

std::string lines(const ordered_json& object) { return object.dump(2) + "\n"; }

}  // namespace

std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer,
                                                   const std::filesystem::path& vocab_dir,
                                                   std::int64_t seq_length) {
  const auto end = tokenizer.end_of_text();
  const ordered_json token = end ? ordered_json(kEndOfText) : ordered_json(nullptr);
  const ordered_json special = {{"bos_token", token}, {"eos_token", token}, {"unk_token", token}};
  ordered_json config = {{"tokenizer_class", "GPT2Tokenizer"},
                         {"model_max_length", seq_length},
                         {"add_prefix_space", false},
                         {"clean_up_tokenization_spaces", false}};
  config.update(special);
  ordered_json generation = {{"_from_model_config", true}};
  if (end) generation.update({{"bos_token_id", *end}, {"eos_token_id", *end}});
  const bool is_bytes = tokenizer.name() == "bytes";
  const auto [tokens, merges] = bpe_files_in(vocab_dir);
  return {{"vocab.json", is_bytes ? vocabulary_of_bytes() : text_of(tokens)},
          {"merges.txt", is_bytes ? "#version: 0.2\n" : text_of(merges)},
          {"tokenizer_config.json", lines(config)},
          {"special_tokens_map.json", lines(end ? special : ordered_json::object())},
          {"generation_config.json", lines(generation)}};
}

}  // namespace tenax::io
