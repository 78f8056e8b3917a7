// What unknown names are answered with.
#include "io/deck/deck_suggest.hpp"

#include <gtest/gtest.h>

namespace tenax::io::test {
namespace {

TEST(EditDistance, counts_insertions_deletions_substitutions_and_swaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("trian", "train"), 1);
  EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(DistanceFromMeant, is_small_where_each_typed_word_begins_a_word_of_the_name) {
  EXPECT_LT(distance_from_meant("num_heads", "num_attention_heads"),
            distance_from_meant("num_heads", "num_layers"));
  EXPECT_EQ(distance_from_meant("seq_len", "seq_length"), 1);
  EXPECT_EQ(distance_from_meant("heads_num", "num_attention_heads"),
            edit_distance("heads_num", "num_attention_heads"));
  EXPECT_EQ(distance_from_meant("", "seed"), 4);
}

TEST(NearestKey, is_the_one_that_was_meant) {
  EXPECT_EQ(nearest_key("model", "num_heads"), "model.num_attention_heads");
  EXPECT_EQ(nearest_key("model", "heads"), "model.num_attention_heads");
  EXPECT_EQ(nearest_key("model", "layers"), "model.num_layers");
  EXPECT_EQ(nearest_key("model", "seq_len"), "model.seq_length");
  EXPECT_EQ(nearest_key("batch", "batch_size"), "batch.global_batch_size");
  EXPECT_EQ(nearest_key("optimizer", "warmup"), "optimizer.lr_warmup_steps");
  EXPECT_EQ(nearest_key("run", "trian_steps"), "run.train_steps");
  EXPECT_EQ(nearest_key("run", "tensor_parallel_size"), "parallel.tensor_parallel_size");
}

TEST(NearestKey, knows_what_other_trainers_call_it) {
  EXPECT_EQ(nearest_key("optimizer", "learning_rate"), "optimizer.lr");
  EXPECT_EQ(nearest_key("model", "n_embd"), "model.hidden_size");
  EXPECT_EQ(nearest_key("model", "block_size"), "model.seq_length");
  EXPECT_EQ(nearest_key("run", "max_iters"), "run.train_steps");
}

TEST(NearestKey, is_not_looked_for_where_the_name_is_longer_than_any) {
  EXPECT_EQ(nearest_key("run", std::string(100'000'000, 'k')), "");
  EXPECT_EQ(nearest_section(std::string(1000, 'k')), "");
  EXPECT_EQ(did_you_mean(""), "");
}

}  // namespace
}  // namespace tenax::io::test
