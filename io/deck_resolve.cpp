#include "io/deck_resolve.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

void make_absolute(std::string& path, const fs::path& folder) {
  if (!path.empty()) path = (folder / path).lexically_normal().string();
}

}  // namespace

void resolve(Deck& deck, const fs::path& deck_file) {
  auto& run = deck.run;
  if (run.name.empty()) run.name = deck_file.stem().string();
  if (run.output_dir.empty()) run.output_dir = (fs::path("runs") / run.name).string();
  if (deck.checkpoint.dir.empty()) deck.checkpoint.dir = (fs::path(run.output_dir) / "checkpoints").string();
  if (deck.model.ffn_hidden_size == 0) deck.model.ffn_hidden_size = 4 * deck.model.hidden_size;
  if (deck.optimizer.lr_decay_steps == 0) deck.optimizer.lr_decay_steps = run.train_steps;
  auto& limit = deck.pipeline.activation_limit;
  if (limit.size() == 1 && limit.front() == 0) limit.clear();

  const fs::path working_folder = fs::current_path();
  make_absolute(run.output_dir, working_folder);
  make_absolute(deck.checkpoint.dir, working_folder);

  const fs::path deck_folder = fs::absolute(deck_file).parent_path();
  for (auto* sources : {&deck.data.train, &deck.data.validation}) {
    for (auto& source : *sources) make_absolute(source.file, deck_folder);
  }
  make_absolute(deck.data.vocab_dir, deck_folder);
  make_absolute(deck.model.init_weights, deck_folder);
  if (run.resume != "auto" && run.resume != "never") make_absolute(run.resume, deck_folder);
  for (auto& fault : deck.inject) make_absolute(fault.trace, deck_folder);
}

}  // namespace tenax::io
