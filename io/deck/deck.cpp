#include "io/deck/deck.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "io/deck/deck_check.hpp"
#include "io/deck/deck_reader.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// As the system has it: behind a link, ".." leads out of the folder that the link stands for.
fs::path parent_of(const fs::path& folder) {
  std::error_code failure;
  const fs::path name = folder.has_filename() ? folder : folder.parent_path();
  const fs::path real = fs::is_symlink(name, failure) ? fs::canonical(name, failure) : name;
  return (failure ? name : real).parent_path();
}

/// Without "." and "..": what the system opens by `path`, which is absolute.
fs::path normal(const fs::path& path) {
  fs::path opened;
  for (const fs::path& part : path) {
    if (part == "..") opened = parent_of(opened);
    opened /= part == "." || part == ".." ? fs::path() : part;  // a folder's name ends in /
  }
  return opened;
}

void make_absolute(std::string& path, const fs::path& folder) {
  if (!path.empty()) path = normal(folder / path).string();
}

/// Without a / at its end: other names are made from it.
void make_absolute_folder(std::string& path, const fs::path& folder) {
  make_absolute(path, folder);
  const fs::path name = path;
  if (!name.has_filename() && name.has_relative_path()) path = name.parent_path().string();
}

bool has_sizes(const ModelSection& model) {
  return model.num_layers > 0 || model.hidden_size > 0 || model.num_attention_heads > 0 ||
         model.seq_length > 0 || model.vocab_size > 0;
}

/// Sizes with which an emulated run's layout can be worked out.
void stand_in_for_model(ModelSection& model, const ParallelSection& parallel) {
  constexpr std::int64_t kHeadSize = 64, kVocabulary = 256;
  model.is_placeholder = true;
  model.num_layers = parallel.pipeline_parallel_size;
  model.num_attention_heads = parallel.tensor_parallel_size;
  model.hidden_size = kHeadSize * model.num_attention_heads;
  model.seq_length = 1;
  model.vocab_size = kVocabulary;
}

// Sizes are multiplied in floating point, as nobody has checked them yet.
double real(std::int64_t value) { return static_cast<double>(value); }
std::int64_t whole(double bytes) {
  constexpr double kMaxBytes = 4e18;
  return static_cast<std::int64_t>(std::min(bytes, kMaxBytes));
}

/// What an emulated model's messages weigh: a boundary tensor, gradients in fp32, as if spread evenly, and weights with two
/// moments.
void weigh_messages(Deck& deck) {
  constexpr double kGradientBytes = 4, kStateBytes = 12;
  const ModelSection& model = deck.model;
  const double h = real(model.hidden_size), f = real(model.ffn_hidden_size), t = real(model.seq_length);
  const double block = 4 * h * h + 2 * h * f + 9 * h + f;
  const double parameters = real(model.num_layers) * block + (real(model.vocab_size) + t + 2) * h;
  const double ranks = real(deck.parallel.pipeline_parallel_size) * real(deck.parallel.tensor_parallel_size);
  DeviceSection& device = deck.device;
  if (device.activation_bytes == 0)
    device.activation_bytes = whole(real(deck.batch.micro_batch_size) * t * h *
                                    (model.compute_dtype == ComputeDtype::bf16 ? 2 : 4));
  if (device.gradient_bytes == 0)
    device.gradient_bytes = whole(std::ceil(parameters / ranks) * kGradientBytes);
  if (device.state_bytes == 0) device.state_bytes = whole(std::ceil(parameters / ranks) * kStateBytes);
}

/// Without a model the state's size follows from that of the gradients.
void weigh_state(DeviceSection& device) {
  constexpr double kStatesPerGradient = 3;
  if (device.state_bytes == 0) device.state_bytes = whole(kStatesPerGradient * real(device.gradient_bytes));
}

/// Where a run writes.
void resolve_folders(Deck& deck, const fs::path& deck_file) {
  auto& run = deck.run;
  if (run.name.empty()) run.name = deck_file.stem().string();
  if (run.output_dir.empty()) run.output_dir = (fs::path("runs") / run.name).string();
  if (deck.checkpoint.dir.empty()) deck.checkpoint.dir = (fs::path(run.output_dir) / "checkpoints").string();
  const fs::path working_folder = fs::current_path();
  make_absolute_folder(run.output_dir, working_folder);
  make_absolute_folder(deck.checkpoint.dir, working_folder);
}

/// A resolved deck states what was a default: with another run.output_dir the checkpoints go there too, not to those of
/// the run that it is of.
void let_checkpoints_follow(Deck& deck, const fs::path& deck_file) {
  Deck stated = deck, usual = deck;
  usual.checkpoint.dir.clear();
  resolve_folders(stated, deck_file);
  resolve_folders(usual, deck_file);
  if (stated.checkpoint.dir == usual.checkpoint.dir) deck.checkpoint.dir.clear();
}

/// Fills in what depends on other keys or on where the deck lies. Doing it twice changes nothing. Files are relative to
/// `folder`.
void resolve(Deck& deck, const Origins& origins, const fs::path& deck_file, const fs::path& folder) {
  auto& run = deck.run;
  resolve_folders(deck, deck_file);
  const bool is_emulated = deck.device.kind == DeviceKind::emulated;
  if (is_emulated) deck.checkpoint.interval = -1;  // there is nothing to save
  if (is_emulated && !has_sizes(deck.model)) stand_in_for_model(deck.model, deck.parallel);
  if (deck.model.ffn_hidden_size == 0) deck.model.ffn_hidden_size = 4 * deck.model.hidden_size;
  if (is_emulated && !deck.model.is_placeholder) weigh_messages(deck);
  if (is_emulated) weigh_state(deck.device);
  if (!deck.detect.enabled && !origins.is_set("mitigate.strategies")) deck.mitigate.strategies.clear();
  if (deck.optimizer.lr_decay_steps == 0) deck.optimizer.lr_decay_steps = run.train_steps;
  auto& limit = deck.pipeline.activation_limit;
  if (limit.size() == 1 && limit.front() == 0) limit.clear();

  for (auto* sources : {&deck.data.train, &deck.data.validation}) {
    for (auto& source : *sources) make_absolute(source.file, folder);
  }
  make_absolute(deck.data.vocab_dir, folder);
  make_absolute(deck.replicas.store_ca, folder);
  make_absolute(deck.model.init_weights, folder);
  if (run.resume != "auto" && run.resume != "never") make_absolute(run.resume, folder);
  for (auto& fault : deck.inject) make_absolute(fault.trace, folder);
}

Deck finish(DeckReader& reader, const fs::path& file, const fs::path& folder) {
  reader.require_all();
  Deck deck = std::move(reader.deck());
  resolve(deck, reader.origins(), file, folder);
  check_deck(deck, reader.origins());
  return deck;
}

std::string text_of(const std::filesystem::path& file) {
  constexpr std::int64_t kMostBytes = 1 << 20;
  std::string text;
  const std::error_code failure = read_text_file(file, text, kMostBytes);
  if (failure == std::errc::file_too_large)
    throw kernels::Error(kernels::Scope::usage, file.string() + ": larger than 1 MiB, which no deck is");
  if (failure)
    throw kernels::Error(kernels::Scope::usage, file.string() + ": cannot open: " + failure.message());
  return text;
}

}  // namespace

Deck read_deck(const fs::path& file, const std::vector<std::string>& overrides, const fs::path& folder) {
  const std::string text = text_of(file);
  DeckReader reader(file.string());
  reader.read(text);
  let_checkpoints_follow(reader.deck(), file);
  for (const auto& override_text : overrides) reader.apply_override(override_text);
  Deck deck = finish(reader, file, folder.empty() ? fs::absolute(file).parent_path() : folder);
  check_learning_rates(deck, reader.origins());
  check_traces(deck, reader.origins());
  return deck;
}

Deck deck_of_overrides(const std::vector<std::string>& overrides) {
  DeckReader reader("command line");
  for (const auto& override_text : overrides) reader.apply_override(override_text);
  check_verbs(reader.deck(), reader.origins());
  return std::move(reader.deck());
}

Deck parse_resolved_deck(const std::string& toml) {
  DeckReader reader("resolved deck");
  reader.read(toml);
  return finish(reader, "/deck.toml", "/");
}

std::optional<Deck> readable_deck(const std::string& toml) {
  try {
    return parse_resolved_deck(toml);
  } catch (const kernels::Error&) {
    return {};
  }
}

}  // namespace tenax::io
