#include "io/deck/deck_check.hpp"

#include <algorithm>

#include "io/deck/deck_key.hpp"
#include "io/file_names.hpp"
#include "io/json.hpp"

namespace tenax::io {
namespace {

constexpr std::int64_t kByteVocabulary = 256;

struct RangeCheck {
  std::string operator()(const std::int64_t* value) const {
    return key.range.complaint(static_cast<double>(*value), std::to_string(*value));
  }
  std::string operator()(const double* value) const {
    return key.range.complaint(*value, number_text(*value));
  }
  template <class Other>
  std::string operator()(const Other*) const {
    return {};
  }
  const DeckKey& key;
};

/// What was given has been looked at; what follows from it has not.
void check_resolved(const Deck& deck, const Origins& origins) {
  Deck resolved = deck;
  for (const DeckKey& key : deck_keys()) {
    if (key.section == "inject" || (key.section == "model" && deck.model.is_placeholder)) continue;
    const std::string complaint = std::visit(RangeCheck{key}, key.target(resolved, 0));
    if (!complaint.empty()) origins.fail({key.full_name()}, key.full_name() + complaint);
  }
}

/// Sizes that are possible each, but not together: their products are counted in 64 bits, with room for bytes.
void check_products(const Deck& deck, const Origins& origins) {
  constexpr double kMost = 1e15;
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  const ModelSection& model = deck.model;
  const double h = real(model.hidden_size), f = real(model.ffn_hidden_size), layers = real(model.num_layers);
  const double parameters =
      layers * (4 * h * h + 2 * h * f) + (real(model.vocab_size) + real(model.seq_length)) * h;
  if (parameters > kMost) {
    origins.fail({"model.num_layers", "model.hidden_size", "model.ffn_hidden_size", "model.vocab_size"},
                 "a model of these sizes has " + number_text(parameters) + " parameters; at most " +
                     number_text(kMost) + " can be counted");
  }
  const double activations = real(deck.batch.micro_batch_size) * real(model.seq_length) *
                             (layers * (8 * h + 2 * f) + real(model.vocab_size));
  if (activations > kMost) {
    origins.fail({"batch.micro_batch_size", "model.seq_length"},
                 "a micro-batch of batch.micro_batch_size = " + std::to_string(deck.batch.micro_batch_size) +
                     " sequences of model.seq_length = " + std::to_string(model.seq_length) + " tokens has " +
                     number_text(activations) + " activations; at most " + number_text(kMost) +
                     " can be counted");
  }
}

void check_divides(const Origins& origins, const std::string& whole_key, std::int64_t whole,
                   const std::string& part_key, std::int64_t part) {
  if (whole % part == 0) return;
  origins.fail({whole_key, part_key}, whole_key + " = " + std::to_string(whole) + " is not a multiple of " +
                                          part_key + " = " + std::to_string(part));
}

void check_model(const Deck& deck, const Origins& origins) {
  const auto& model = deck.model;
  const auto& parallel = deck.parallel;
  check_divides(origins, "model.hidden_size", model.hidden_size, "model.num_attention_heads",
                model.num_attention_heads);
  check_divides(origins, "model.num_attention_heads", model.num_attention_heads,
                "parallel.tensor_parallel_size", parallel.tensor_parallel_size);
  check_divides(origins, "model.ffn_hidden_size", model.ffn_hidden_size, "parallel.tensor_parallel_size",
                parallel.tensor_parallel_size);
  if (model.num_layers < parallel.pipeline_parallel_size) {
    origins.fail({"parallel.pipeline_parallel_size", "model.num_layers"},
                 "parallel.pipeline_parallel_size = " + std::to_string(parallel.pipeline_parallel_size) +
                     " stages need at least as many layers, but model.num_layers = " +
                     std::to_string(model.num_layers));
  }
}

/// The global batch is shared in micro-batches over pipelines; with `shrink` also evenly over replicas.
void check_batch(const Deck& deck, const Origins& origins) {
  const auto& batch = deck.batch;
  const std::int64_t data_size = deck.parallel.data_parallel_size, replicas = deck.parallel.replicas;
  const bool is_even = deck.replicas.batch == ReplicaBatch::shrink && replicas > 1;
  const std::int64_t unit = batch.micro_batch_size * data_size;
  const std::string global = "batch.global_batch_size = " + std::to_string(batch.global_batch_size);
  const std::string product = "batch.micro_batch_size x parallel.data_parallel_size",
                    numbers = std::to_string(batch.micro_batch_size) + " x " + std::to_string(data_size),
                    times_replicas = " x " + std::to_string(replicas);
  if (batch.global_batch_size % (is_even ? unit * replicas : unit) != 0)
    origins.fail({"batch.global_batch_size", "batch.micro_batch_size", "parallel.data_parallel_size",
                  "parallel.replicas", "replicas.batch"},
                 global + " is not a multiple of " + product + (is_even ? " x parallel.replicas" : "") +
                     " = " + numbers + (is_even ? times_replicas : ""));
  if (batch.global_batch_size < unit * replicas)
    origins.fail({"batch.global_batch_size", "batch.micro_batch_size", "parallel.data_parallel_size",
                  "parallel.replicas"},
                 global + " leaves a replica without samples: it must be at least " + product +
                     " x parallel.replicas = " + numbers + times_replicas);
}

void check_resume(const Deck& deck, const Origins& origins) {
  if (!deck.run.resume.empty()) return;
  origins.fail({"run.resume"}, "run.resume is empty: it must be \"auto\", \"never\" or a checkpoint");
}

/// One list of token files, `key` = "data.train" or "data.validation".
void check_token_files(const std::vector<DataSource>& sources, const std::string& key,
                       const Origins& origins) {
  for (const DataSource& source : sources) {
    if (is_token_file_name(source.file) || may_name_many(source.file)) continue;
    const bool is_index = source.file.ends_with(".idx");
    origins.fail({key}, key + " = " + json_string(source.file) + " must end in " +
                            std::string(kTokenEndings) +
                            (is_index ? "; name the .bin beside this .idx"
                                      : ", or be a folder (with a / at its end if its name has a dot) or a "
                                        "pattern with * ? [ ] { }"));
  }
}

bool is_text(const DataSource& source) { return source.file.ends_with(".txt"); }

bool has_text(const std::vector<DataSource>& sources) {
  return std::any_of(sources.begin(), sources.end(), is_text);
}

void check_tokenizer(const Deck& deck, const Origins& origins) {
  const auto& data = deck.data;
  const bool are_texts = !data.train.empty() && std::all_of(data.train.begin(), data.train.end(), is_text);
  if (are_texts && data.tokenizer.empty() && !deck.model.init_weights.empty() &&
      deck.model.vocab_size != kByteVocabulary)
    origins.fail({"data.tokenizer", "data.train"},
                 "data.tokenizer must be said for model.init_weights with vocab_size = " +
                     std::to_string(deck.model.vocab_size) +
                     ": unsaid, texts are read as bytes, of which there are 256");
  if (deck.data.tokenizer != "gpt2" || !deck.data.vocab_dir.empty()) return;
  if (!has_text(deck.data.train) && !has_text(deck.data.validation)) return;
  origins.fail({"data.tokenizer"},
               "data.tokenizer = \"gpt2\" needs data.vocab_dir for .txt files, the folder with encoder.json "
               "and vocab.bpe");
}

void check_data(const Deck& deck, const Origins& origins) {
  if (deck.data.train.empty() && deck.device.kind != DeviceKind::emulated) {
    origins.fail({"data.train"}, "data.train is required, for example train = \"train.txt\" in [data]");
  }
  check_token_files(deck.data.train, "data.train", origins);
  check_token_files(deck.data.validation, "data.validation", origins);
  check_tokenizer(deck, origins);
}

}  // namespace

std::string not_supported(const std::string& what, const std::string& reason) {
  return what + " is not supported by this version of tenax: " + reason;
}

void check_deck(const Deck& deck, const Origins& origins) {
  check_paths(deck, origins);
  check_resolved(deck, origins);
  check_products(deck, origins);
  check_data(deck, origins);
  check_model(deck, origins);
  check_batch(deck, origins);
  check_resume(deck, origins);
  check_machine(deck, origins);
  if (deck.run.name.find('/') != std::string::npos || deck.run.name == "." || deck.run.name == "..") {
    origins.fail({"run.name"}, "run.name = " + json_string(deck.run.name) + " cannot name a folder");
  }
}

void check_learning_rates(const Deck& deck, const Origins& origins) {
  const OptimizerSection& optimizer = deck.optimizer;
  const bool decays =
      optimizer.lr_schedule != LrSchedule::constant && deck.device.kind != DeviceKind::emulated;
  if (!decays || optimizer.min_lr <= optimizer.lr) return;
  origins.fail({"optimizer.min_lr", "optimizer.lr"},
               "optimizer.min_lr = " + number_text(optimizer.min_lr) +
                   " is out of range: it must be at most optimizer.lr = " + number_text(optimizer.lr));
}

}  // namespace tenax::io
