// The table of the deck's keys: each is declared once, here or, as for how the work is split, on what it runs, what keeps it
// alive and what goes wrong on purpose, in deck_table_*.cpp. Parsing, checking, --deck-help, inputs/reference.toml and the
// resolved deck come from it. Types and defaults are those of deck.hpp.
#include "io/deck/deck_rows.hpp"

namespace tenax::io {
namespace {

void add_run(Keys& keys) {
  using S = RunSection;
  Rows<S> run(keys, "run", &Deck::run);
  run("name", &S::name, "What the run is called; by default the deck's file name without its ending.")
      .example("\"my-run\"");
  run("output_dir", &S::output_dir,
      "The run directory, relative to the working directory; by default runs/<name>.")
      .example("\"runs/my-run\"");
  run("train_steps", &S::train_steps, "Optimizer steps of the whole run.")
      .required("100")
      .within(kSize)
      .in("steps");
  run("seed", &S::seed, "Seed of the initial weights and of the order of the data.").at_least(0);
  run("log_interval", &S::log_interval, "A table line on the terminal every so many steps.")
      .within(kSize)
      .in("steps");
  run("eval_interval", &S::eval_interval, "Validation loss every so many steps; 0 = none.")
      .within(kCount)
      .in("steps");
  run("eval_steps", &S::eval_steps, "Length of one evaluation.").within(kSize).in("global batches");
  run("profile_interval", &S::profile_interval,
      "Trace a step every so many steps, and the last; 0 = the tenth step after each start, and the last.")
      .within(kCount)
      .in("steps");
  run("max_minutes", &S::max_minutes, "Checkpoint and end after this time; 0 = no limit.")
      .at_least(0)
      .in("minutes");
  run("ignore_memory", &S::ignore_memory,
      "Start the run also where it plans more memory than its hosts have available.");
  run("tensorboard", &S::tensorboard,
      "Also write metrics as TensorBoard event files, in RUNDIR/tensorboard.");
  run("resume", &S::resume,
      "\"auto\" = from the newest complete checkpoint of the run directory, if any; \"never\" = from the "
      "start, "
      "moving an old run directory aside; else the checkpoint to continue from, relative to the deck.");
}

void add_model(Keys& keys) {
  using S = ModelSection;
  Rows<S> model(keys, "model", &Deck::model);
  model("num_layers", &S::num_layers, "Transformer blocks.").required("4").within(kLayers);
  model("hidden_size", &S::hidden_size, "Width of the residual stream.").required("128").within(kWidth);
  model("num_attention_heads", &S::num_attention_heads, "Attention heads; they divide hidden_size.")
      .required("4")
      .within(kLayers);
  model("ffn_hidden_size", &S::ffn_hidden_size, "Width inside the feed-forward part; 0 = 4 x hidden_size.")
      .within(kInnerWidth);
  model("seq_length", &S::seq_length, "Length of a training sequence, and the number of positions.")
      .required("128")
      .within(kWidth)
      .in("tokens");
  model("vocab_size", &S::vocab_size, "Tokens of the vocabulary: 256 for bytes, 50257 for GPT-2.")
      .required("256")
      .within(kWidth)
      .in("tokens");
  model("compute_dtype", &S::compute_dtype,
        "Type of activations and of the weights that products read; master weights are fp32 always.");
  model("init_weights", &S::init_weights,
        "A Hugging Face GPT-2 to start from, relative to the deck: its folder, its safetensors file or their "
        "index; or a "
        "checkpoint of tenax (.h5), of which the weights are taken.")
      .example("\"model.safetensors\"");
}

void add_data(Keys& keys) {
  using S = DataSection;
  Rows<S> data(keys, "data", &Deck::data);
  data("train", &S::train,
       "Training tokens, relative to the deck: a file, a folder, a pattern such as \"shards/*.bin\", or a "
       "list "
       "of these and of {file = ..., weight = ...}, from which samples are drawn in proportion to the "
       "weights; "
       "without one it is the number of tokens. The files of a folder or pattern follow each other by name. "
       ".txt is tokenized on the fly, .bin is raw little-endian uint16, or what llm.c's header or Megatron's "
       ".idx beside it says, .h5 is tenax tokenize's.")
      .required("\"train.txt\"");
  data("validation", &S::validation, "Validation tokens, as for train; without it nothing is evaluated.")
      .example("\"validation.txt\"");
  data("tokenizer", &S::tokenizer,
       "How .txt files and samples are tokenized; by default as the token files say that they were, else by "
       "bytes. "
       "Token files and checkpoints that say otherwise are refused.")
      .one_of({"bytes", "gpt2"})
      .or_empty()
      .example("\"bytes\"");
  data("vocab_dir", &S::vocab_dir, "Folder with GPT-2's encoder.json and vocab.bpe, relative to the deck.")
      .example("\"gpt2\"");
  data("order", &S::order,
       "shuffled = a seeded permutation of the windows, a new one each epoch; sequential = file order.")
      .one_of({"shuffled", "sequential"});
}

void add_batch(Keys& keys) {
  using S = BatchSection;
  Rows<S> batch(keys, "batch", &Deck::batch);
  batch("global_batch_size", &S::global_batch_size,
        "Sequences of one optimizer step, of all replicas together; a multiple of micro_batch_size x "
        "data_parallel_size (replicas.batch = shrink: x replicas).")
      .required("8")
      .within(kSize)
      .in("sequences");
  batch("micro_batch_size", &S::micro_batch_size, "Sequences that pass through the model at once.")
      .within(kSize)
      .in("sequences");
}

void add_optimizer(Keys& keys) {
  using S = OptimizerSection;
  Rows<S> optimizer(keys, "optimizer", &Deck::optimizer);
  optimizer("kind", &S::kind,
            "adamw, or lion: one moment instead of two, and steps of the learning rate along a sign. Lion's "
            "usual values "
            "are adam_beta1 = 0.9, adam_beta2 = 0.99 and a third to a tenth of AdamW's lr with as much more "
            "weight_decay.");
  optimizer("lr", &S::lr, "Learning rate after the warm-up.").required("1e-3").at_least(0);
  optimizer("min_lr", &S::min_lr, "Learning rate at the end of the decay; at most lr.").at_least(0);
  optimizer("lr_schedule", &S::lr_schedule, "How the learning rate goes from lr to min_lr.");
  optimizer("lr_warmup_steps", &S::lr_warmup_steps, "Steps of linear warm-up.").within(kCount).in("steps");
  optimizer("lr_decay_steps", &S::lr_decay_steps, "Step at which min_lr is reached; 0 = train_steps.")
      .within(kCount)
      .in("steps");
  optimizer("weight_decay", &S::weight_decay, "Decoupled decay of the tensors with two dimensions.")
      .at_least(0);
  optimizer("adam_beta1", &S::adam_beta1,
            "Decay of the first moment; of Lion, its weight in the sign that a step follows.")
      .within(kFraction);
  optimizer("adam_beta2", &S::adam_beta2, "Decay of the second moment; of Lion, of its only one.")
      .within(kFraction);
  optimizer("adam_eps", &S::adam_eps, "Added to the root of the second moment; Lion has none.").at_least(0);
  optimizer("clip_grad", &S::clip_grad, "Largest norm of the gradient; 0 = no clipping.").at_least(0);
}

Keys build_table() {
  Keys keys;
  add_run(keys);
  add_model(keys);
  add_data(keys);
  add_batch(keys);
  add_optimizer(keys);
  add_machine_rows(keys);
  return keys;
}

}  // namespace

const std::vector<DeckSection>& deck_sections() {
  static const std::vector<DeckSection> sections = {
      {"run", "What to do and where to write it."},
      {"model", "A GPT-2 of these sizes. The emulated device needs none: all of this section, or nothing."},
      {"data", "Where tokens come from and in what order. The emulated device reads none."},
      {"batch", "How many sequences a step has."},
      {"optimizer", "The optimizer and its learning rate. The emulated device needs none of it."},
      {"parallel", "How the work is split; tensor x pipeline x data ranks."},
      {"pipeline", "The order of work in a pipeline."},
      {"comm", "How ranks talk to each other."},
      {"verbs", "RDMA. Allowed, and without effect, with other transports."},
      {"device", "What computes."},
      {"checkpoint", "Saving the state of training. The emulated device has none to save."},
      {"detect", "Finding what has become slow."},
      {"mitigate", "Doing what pays against what has become slow."},
      {"replicas", "Keeping replicas alive, by tenax launch. Without effect where parallel.replicas = 1."},
      {"inject", "A fault to inject, one [[inject]] each."},
  };
  return sections;
}

const std::vector<DeckKey>& deck_keys() {
  static const std::vector<DeckKey> keys = build_table();
  return keys;
}

}  // namespace tenax::io
