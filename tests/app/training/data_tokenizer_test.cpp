#include "app/training/data_tokenizer.hpp"

#include "io/tokens/token_writer.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::app {
namespace {

using io::test::error_of;
using io::test::SmallVocabulary;
using io::test::TemporaryFolder;
using Reason = DataTokenizer::Reason;

std::string write_tokens(const std::filesystem::path& path, const io::Tokenizer& tokenizer) {
  const auto writer = io::TokenWriter::create(path, tokenizer, {});
  writer->append(std::vector<std::int32_t>{1, 2, 3});
  writer->publish();
  return path.string();
}

io::DataSection stated(const std::string& tokenizer, const std::string& vocab_dir = "") {
  io::DataSection data;
  data.tokenizer = tokenizer;
  data.vocab_dir = vocab_dir;
  return data;
}

class SettledTokenizer : public testing::Test {
 protected:
  static DataTokenizer settle_tokenizer(const io::DataSection& data, const std::vector<std::string>& files,
                                        std::int64_t vocab_size = io::ByteTokenizer::kVocabSize) {
    return app::settle_tokenizer(data, files, vocab_size);
  }

  TemporaryFolder folder_;
  SmallVocabulary vocabulary_;
  const std::string vocab_dir_ = vocabulary_.folder().path().string();
  const std::string bytes_ = write_tokens(folder_.path() / "bytes.h5", *io::Tokenizer::create("bytes", ""));
  const std::string gpt2_ = write_tokens(folder_.path() / "gpt2.h5", *vocabulary_.tokenizer());
  const std::string text_ = folder_.write("a.txt", "a text").string();
};

TEST_F(SettledTokenizer, is_what_the_files_say_where_the_deck_states_nothing) {
  const auto settled = settle_tokenizer({}, {"/a.bin", gpt2_});
  EXPECT_EQ(settled.claim.tokenizer, "gpt2");
  EXPECT_EQ(settled.claim.who, gpt2_);
  EXPECT_EQ(settled.claim.vocabulary_checksum, io::vocabulary_checksum(*vocabulary_.tokenizer()));
  EXPECT_EQ(settled.reason, Reason::files);
}

TEST_F(SettledTokenizer, is_bytes_for_a_text_and_unknown_for_numbers_alone) {
  EXPECT_EQ(settle_tokenizer({}, {"/a.bin", text_}).claim.tokenizer, "bytes");
  EXPECT_EQ(settle_tokenizer({}, {text_}).reason, Reason::text_default);
  EXPECT_EQ(settle_tokenizer({}, {"/a.bin"}).reason, Reason::unknown);
}

TEST_F(SettledTokenizer, is_not_bytes_beside_numbers_for_a_model_that_has_other_tokens) {
  const auto [message, status] = error_of([&] { settle_tokenizer({}, {"/a.bin", text_}, 50304); });
  EXPECT_EQ(message,
            "neither the deck nor /a.bin says what the 50304 tokens of the model stand for: set "
            "data.tokenizer, for " +
                text_ + " would be read as bytes");
  EXPECT_EQ(status, 1);
  EXPECT_EQ(settle_tokenizer({}, {text_}, 50304).claim.tokenizer, "bytes") << "a text alone";
  EXPECT_EQ(settle_tokenizer({}, {bytes_, text_}, 50304).claim.tokenizer, "bytes") << "a file says so";
  EXPECT_EQ(settle_tokenizer(stated("bytes"), {"/a.bin", text_}, 50304).claim.tokenizer, "bytes");
}

TEST_F(SettledTokenizer, refuses_files_that_the_deck_or_each_other_contradicts) {
  const auto [message, status] = error_of([&] { settle_tokenizer(stated("gpt2"), {bytes_}); });
  EXPECT_TRUE(message.starts_with("data.tokenizer and " + bytes_ + " do not go together")) << message;
  EXPECT_EQ(status, 1);
  EXPECT_EQ(error_of([&] { settle_tokenizer(stated("bytes"), {"/a.bin", gpt2_}); }).second, 1);
  const std::string both = error_of([&] { settle_tokenizer({}, {bytes_, gpt2_}); }).first;
  EXPECT_TRUE(both.starts_with(bytes_ + " and " + gpt2_ + " do not go together")) << both;
}

TEST_F(SettledTokenizer, of_a_text_beside_tokens_of_gpt2_needs_the_same_vocabulary) {
  EXPECT_NE(error_of([&] {
              settle_tokenizer({}, {text_, gpt2_});
            }).first.find("needs data.vocab_dir"),
            std::string::npos);
  EXPECT_EQ(settle_tokenizer(stated("", vocab_dir_), {text_, gpt2_}).claim.tokenizer, "gpt2");
  const SmallVocabulary other(io::test::Pairs{{"t", "h"}, {"a", "b"}});
  const std::string message = error_of([&] {
                                settle_tokenizer(stated("", other.folder().path().string()), {text_, gpt2_});
                              }).first;
  EXPECT_NE(message.find("another vocabulary"), std::string::npos) << message;
}

TEST_F(SettledTokenizer, that_is_stated_must_be_the_checkpoints) {
  DataTokenizer tokens = settle_tokenizer(stated("gpt2"), {gpt2_});
  EXPECT_EQ(compare_with_checkpoint(tokens, {"c.h5", "gpt2", ""}, 263), "");
  EXPECT_EQ(error_of([&] { compare_with_checkpoint(tokens, {"c.h5", "bytes", ""}, 263); }).second, 1);
}

TEST_F(SettledTokenizer, of_files_alone_may_change_with_a_warning) {
  DataTokenizer tokens = settle_tokenizer({}, {gpt2_});
  const std::string warning = compare_with_checkpoint(tokens, {"c.h5", "bytes", ""}, 263);
  EXPECT_NE(warning.find(gpt2_ + " and c.h5"), std::string::npos) << warning;
}

TEST_F(SettledTokenizer, is_never_bytes_by_default_for_a_model_that_has_other_tokens_or_says_nothing) {
  DataTokenizer tokens = settle_tokenizer({}, {text_});
  EXPECT_EQ(error_of([&] { compare_with_checkpoint(tokens, {"c.h5", "gpt2", ""}, 50257); }).second, 1);
  const std::string message = error_of([&] {
                                compare_with_checkpoint(tokens, {"c.h5", "", ""}, 50257);
                              }).first;
  EXPECT_NE(message.find("set data.tokenizer"), std::string::npos) << message;
  EXPECT_EQ(compare_with_checkpoint(tokens, {"c.h5", "", ""}, 256), "");
}

TEST_F(SettledTokenizer, is_the_checkpoints_where_nobody_else_says) {
  DataTokenizer tokens = settle_tokenizer({}, {"/a.bin"});
  compare_with_checkpoint(tokens, {"c.h5", "gpt2", "0123456789abcdef"}, 50257);
  EXPECT_EQ(tokens.claim.tokenizer, "gpt2");
  EXPECT_EQ(tokens.claim.vocabulary_checksum, "0123456789abcdef");
}

}  // namespace
}  // namespace tenax::app
