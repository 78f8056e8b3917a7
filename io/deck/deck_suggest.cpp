#include "io/deck/deck_suggest.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "io/deck/deck_key.hpp"

namespace tenax::io {
namespace {

/// What is longer is no name that was mistyped, and distances to it take long.
constexpr std::size_t kLongestName = 64;

struct Synonym {
  std::string_view name, meant;
};
/// What nanoGPT, Megatron-LM and Hugging Face call keys of ours.
constexpr std::array<Synonym, 14> kSynonyms = {{{"learning_rate", "lr"},
                                                {"max_lr", "lr"},
                                                {"max_iters", "train_steps"},
                                                {"train_iters", "train_steps"},
                                                {"max_steps", "train_steps"},
                                                {"n_layer", "num_layers"},
                                                {"n_head", "num_attention_heads"},
                                                {"n_embd", "hidden_size"},
                                                {"d_model", "hidden_size"},
                                                {"n_inner", "ffn_hidden_size"},
                                                {"n_positions", "seq_length"},
                                                {"block_size", "seq_length"},
                                                {"batch_size", "global_batch_size"},
                                                {"grad_clip", "clip_grad"}}};

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("_- "), name.size());
    if (end > 0) words.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words;
}

/// How many words `known` has besides those that the words of `name` begin, in order; -1 if it lacks one.
int surplus_words(const std::string& name, const std::string& known) {
  const auto wanted = words_of(name), words = words_of(known);
  std::size_t found = 0;
  for (const std::string_view word : words)
    if (found < wanted.size() && word.starts_with(wanted[found])) ++found;
  return wanted.empty() || found < wanted.size() ? -1 : static_cast<int>(words.size() - found);
}

std::string meant_by(const std::string& name) {
  const auto* synonym =
      std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& s) { return s.name == name; });
  return synonym == kSynonyms.end() ? name : std::string(synonym->meant);
}

}  // namespace

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      int& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      const int substituted = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) here = std::min(here, distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

int distance_from_meant(const std::string& name, const std::string& known) {
  const int distance = edit_distance(name, known), surplus = surplus_words(name, known);
  return surplus < 0 ? distance : std::min(distance, 1 + surplus);
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty() || name.size() > kLongestName) return {};
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance_from_meant(name, a) < distance_from_meant(name, b);
  });
}

std::string nearest_section(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& section : deck_sections()) names.push_back(section.name);
  return nearest_name(name, names);
}

std::string nearest_key(const std::string& section, const std::string& name) {
  constexpr int kOtherSection = 3;
  if (name.size() > kLongestName) return {};
  const std::string meant = meant_by(name);
  int least = std::numeric_limits<int>::max();
  std::string nearest;
  for (const auto& key : deck_keys()) {
    const bool is_elsewhere = key.section != section;
    const int distance = distance_from_meant(meant, key.name);
    const bool is_alike = distance < static_cast<int>(meant.size());
    const int cost = distance + (is_elsewhere ? kOtherSection : 0);
    if (cost >= least || (is_elsewhere && !is_alike && !section.empty())) continue;
    least = cost;
    nearest = key.full_name();
  }
  return nearest;
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? std::string() : "; did you mean " + name + "?";
}

}  // namespace tenax::io
