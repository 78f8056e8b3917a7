// The shape in which the table declares its rows; for deck_table*.cpp alone.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/deck/deck_key.hpp"

namespace tenax::io {

inline constexpr Range kSize{1, kMaxSize, false, false};
inline constexpr Range kCount{0, kMaxSize, false, false};
/// Beyond these nobody trains anything, and what is computed from them would wrap around.
inline constexpr Range kLayers{1, 1e5, false, false};
inline constexpr Range kWidth{1, 1e7, false, false};
inline constexpr Range kInnerWidth{0, 4e7, false, false};  ///< 4 x kWidth; 0 = that
inline constexpr Range kRanks{1, 1e6, false, false};
inline constexpr Range kFraction{0, 1, false, true};

using Keys = std::vector<DeckKey>;

/// Adds the rows of one section, whose struct `part` finds in a Deck.
template <class Section>
class Rows {
 public:
  using Part = std::function<Section&(Deck&, std::size_t)>;
  Rows(Keys& keys, std::string section, Section Deck::*part)
      : Rows(keys, std::move(section), [part](Deck& deck, std::size_t) -> Section& { return deck.*part; }) {}
  Rows(Keys& keys, std::string section, Part part)
      : keys_(keys), section_(std::move(section)), part_(std::move(part)) {}

  /// The row is valid until the next one is added.
  template <class T>
  DeckKey& operator()(std::string name, T Section::*member, std::string sentence) {
    DeckKey key;
    key.section = section_;
    key.name = std::move(name);
    key.sentence = std::move(sentence);
    key.target = [part = part_, member](Deck& deck, std::size_t i) {
      return DeckTarget(&(part(deck, i).*member));
    };
    if constexpr (std::is_base_of_v<AnyChoice, T>) key.choices = (Section{}.*member).words();
    keys_.push_back(std::move(key));
    return keys_.back();
  }

 private:
  Keys& keys_;
  std::string section_;
  Part part_;
};

/// The rows of [parallel], [pipeline], [comm], [device], [checkpoint] and [[inject]].
void add_machine_rows(Keys& keys);

}  // namespace tenax::io
