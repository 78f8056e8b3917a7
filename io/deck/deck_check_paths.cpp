// A resolved deck is TOML, hence UTF-8: there a path of other bytes would become another path, which a run would
// create.
#include "io/deck/deck_check.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace tenax::io {
namespace {

void check_path(const std::string& path, const std::string& key, const Origins& origins) {
  if (is_utf8(path)) return;
  origins.fail({key}, key + " stands for " + json_string(path) +
                          ", a path that is not UTF-8, which no deck can hold: give its folders or the file "
                          "another name, or start elsewhere");
}

}  // namespace

void check_paths(const Deck& deck, const Origins& origins) {
  check_path(deck.run.output_dir, "run.output_dir", origins);
  check_path(deck.run.resume, "run.resume", origins);
  check_path(deck.checkpoint.dir, "checkpoint.dir", origins);
  for (const DataSource& source : deck.data.train) check_path(source.file, "data.train", origins);
  for (const DataSource& source : deck.data.validation) check_path(source.file, "data.validation", origins);
  check_path(deck.data.vocab_dir, "data.vocab_dir", origins);
  check_path(deck.model.init_weights, "model.init_weights", origins);
  check_path(deck.replicas.store_ca, "replicas.store_ca", origins);
  for (std::size_t i = 0; i < deck.inject.size(); ++i)
    check_path(deck.inject[i].trace, "inject." + std::to_string(i) + ".trace", origins);
}

}  // namespace tenax::io
