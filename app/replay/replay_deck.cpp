#include "app/replay/replay_deck.hpp"

#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

io::Deck deck_of_checkpoint(const fs::path& checkpoint, const io::CheckpointInfo& info,
                            const std::vector<std::string>& overrides, const fs::path& scratch) {
  if (info.deck.empty())
    throw Error(Scope::rank, checkpoint.string() + " was imported: it does not say what it is trained on");
  try {
    io::parse_resolved_deck(info.deck);
  } catch (const Error& error) {
    throw Error(Scope::rank, "the deck in " + checkpoint.string() + ": " + error.what());
  }
  const fs::path file = scratch / "deck.toml";
  io::write_file_atomically(file, info.deck);
  return io::read_deck(file, overrides, fs::current_path());  // the deck itself names all files from the root
}

io::Deck replay_deck(io::Deck deck, const fs::path& checkpoint, const io::CheckpointInfo& info,
                     std::int64_t steps, const fs::path& folder) {
  deck.run.train_steps = info.step + steps;  // what the learning rate follows is in lr_decay_steps
  deck.run.resume = fs::absolute(checkpoint);
  deck.run.output_dir = folder / "run";
  deck.run.eval_interval = 0;
  deck.run.max_minutes = 0;
  deck.run.tensorboard = false;
  deck.model.init_weights.clear();
  deck.data.validation.clear();
  deck.checkpoint.interval = -1;
  deck.checkpoint.dir = folder / "run" / "checkpoints";
  deck.device.deterministic = true;
  deck.device.cuda_graph = false;
  deck.parallel.replicas = 1;
  deck.replicas = {};
  deck.detect.enabled = false;
  deck.mitigate.strategies.clear();
  deck.mitigate.restart = io::RestartElsewhere::never;
  std::erase_if(deck.inject, [](const io::InjectEntry& fault) {
    return fault.kind != io::FaultKind::bit_flip || fault.replica != 0;
  });
  return deck;
}

}  // namespace tenax::app
