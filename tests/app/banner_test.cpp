#include "app/training/banner.hpp"
#include "app/options.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "kernels/device.hpp"

namespace tenax::app {
namespace {

std::string banner_of(int tensor, int pipeline, int data, int replicas = 1, std::size_t spare = 0,
                      int threads = 1) {
  io::Deck deck;
  deck.run.name = "a-run";
  deck.model.num_layers = 96;
  deck.model.hidden_size = 12288;
  deck.model.num_attention_heads = 96;
  deck.model.ffn_hidden_size = 4 * 12288;
  deck.model.seq_length = 2048;
  deck.model.vocab_size = 50257;
  deck.batch.global_batch_size = 1536;
  deck.parallel = {tensor, pipeline, data, replicas};
  constexpr double kFlopPerSecond = 1e15;
  constexpr std::size_t kPlenty = std::size_t{1} << 50;
  return banner(deck, plan_layout(deck, kFlopPerSecond, kPlenty), *kernels::create_cpu_device(threads),
                kFlopPerSecond, spare);
}

TEST(Banner, fits_into_80_columns_and_breaks_no_word) {
  for (const std::string& text : {banner_of(1, 1, 1), banner_of(8, 16, 12)}) {
    std::istringstream lines(text);
    std::string words;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
      words += line.substr(line.find_first_not_of(' ')) + " ";
    }
    EXPECT_NE(words.find("96 layers, 96 heads, width 12288, T 2048, vocabulary 50257: "), std::string::npos);
    EXPECT_NE(words.find(" a rank: weights "), std::string::npos);
  }
}

TEST(Banner, counts_what_ranks_keep_for_a_change_of_places) {
  constexpr std::size_t kTib = std::size_t{1} << 40;
  const std::string without = banner_of(1, 2, 4), with = banner_of(1, 2, 4, 1, kTib);
  const auto up_to = [](const std::string& text) { return std::stod(text.substr(text.find("up to ") + 6)); };
  EXPECT_EQ(without.find("change of places"), std::string::npos);
  EXPECT_NE(with.find("change of places"), std::string::npos);
  EXPECT_NEAR(up_to(with), up_to(without) + 1, 0.01) << with;
}

TEST(Banner, names_the_keys_with_which_a_finished_run_begins_another) {
  io::Deck deck;
  deck.run.output_dir = "/runs/a";
  deck.checkpoint.dir = "/runs/a/checkpoints";
  EXPECT_NE(finished_line(deck, 20).find("(20 steps done)"), std::string::npos);
  EXPECT_NE(finished_line(deck, 20).find("another run.output_dir, or run.resume=never"), std::string::npos);
  deck.checkpoint.dir = "/elsewhere/checkpoints";
  EXPECT_NE(finished_line(deck, 20).find("another run.output_dir and checkpoint.dir, or"), std::string::npos);
}

TEST(Banner, names_a_ranks_threads_where_there_are_several) {
  EXPECT_EQ(banner_of(1, 1, 1).find("threads a rank"), std::string::npos);
  EXPECT_NE(banner_of(1, 1, 1, 1, 0, 8).find("8 threads a rank"), std::string::npos);
}

TEST(Banner, says_what_share_each_replica_has_and_how_gradients_travel) {
  std::istringstream folded(banner_of(1, 2, 4, 5));
  std::string text;
  for (std::string word; folded >> word;) text += word + " ";
  EXPECT_NE(
      text.find("replicas 5, of 8 ranks each; of 1536 sequences of 2048 tokens a step each computes "
                "308 or 304; gradients travel in fp32 layout tensor 1 x pipeline 2 x data 4 in a replica"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace tenax::app
