#include "model/gpt_config.hpp"

#include <gtest/gtest.h>

namespace tenax::model {
namespace {

TEST(GptConfig, counts_the_parameters_of_gpt2_124m) {
  const GptConfig config{12, 768, 12, 3072, 1024, 50257};
  EXPECT_EQ(config.parameters(), 124439808);  // Hugging Face's gpt2
}

TEST(GptConfig, pads_the_vocabulary_to_equal_shards_of_64_rows) {
  const GptConfig config{12, 768, 12, 3072, 1024, 50257};
  EXPECT_EQ(config.padded_vocab_size(1), 50304);
  EXPECT_EQ(config.padded_vocab_size(4) % 256, 0);
  EXPECT_GE(config.padded_vocab_size(4), 50257);
}

TEST(GptConfig, flop_per_token_leave_out_position_embedding_and_count_attention_whole) {
  const GptConfig config{2, 8, 2, 32, 16, 10};
  EXPECT_DOUBLE_EQ(config.flop_per_token(),
                   6.0 * static_cast<double>(config.parameters() - 16 * 8) + 12.0 * 2 * 8 * 16);
}

}  // namespace
}  // namespace tenax::model
