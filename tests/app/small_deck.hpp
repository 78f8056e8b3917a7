// A deck of a model so small that tests can plan it, or train it, in no time.
#pragma once

#include <cstdint>

#include "io/deck/deck.hpp"

namespace tenax::app {

/// The sizes of a model. The feed-forward part is `ffn_hidden_size` wide; every model has 4 heads.
struct SmallModel {
  std::int64_t layers = 8, hidden_size = 64, ffn_hidden_size = 256, seq_length = 32, vocab_size = 500;
};

/// In sequences a step, on tensor x pipeline x data ranks of one replica.
inline io::Deck small_deck(int tensor, int pipeline, int data, std::int64_t global_batch_size = 24,
                           const SmallModel& model = {}) {
  io::Deck deck;
  deck.model.num_layers = model.layers;
  deck.model.hidden_size = model.hidden_size;
  deck.model.num_attention_heads = 4;
  deck.model.ffn_hidden_size = model.ffn_hidden_size;
  deck.model.seq_length = model.seq_length;
  deck.model.vocab_size = model.vocab_size;
  deck.batch.global_batch_size = global_batch_size;
  deck.parallel = {tensor, pipeline, data, 1};
  return deck;
}

}  // namespace tenax::app
