// Rows: adds keys to the deck's table. For deck_table*.cpp alone.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/deck/deck_key.hpp"

namespace tenax::io {

inline constexpr Range kSize{1, kMaxSize, false, false};
inline constexpr Range kCount{0, kMaxSize, false, false};
/// Nobody trains beyond these, and products of larger ones would wrap around.
inline constexpr Range kLayers{1, 1e5, false, false};
inline constexpr Range kWidth{1, 1e7, false, false};
inline constexpr Range kInnerWidth{0, 4e7, false, false};  ///< 4 x kWidth; 0 = that
inline constexpr Range kRanks{1, 1e6, false, false};
inline constexpr Range kFraction{0, 1, false, true};

using Keys = std::vector<DeckKey>;

/// Adds the rows of one section. `part` finds the section's struct in a Deck.
template <class Section>
class Rows {
 public:
  using Part = std::function<Section&(Deck&, std::size_t)>;
  Rows(Keys& keys, std::string section, Section Deck::*part)
      : Rows(keys, std::move(section), [part](Deck& deck, std::size_t) -> Section& { return deck.*part; }) {}
  Rows(Keys& keys, std::string section, Part part)
      : keys_(keys), section_(std::move(section)), part_(std::move(part)) {}

  /// Adds a row. The reference is valid until the next row is added.
  template <class Member>  // of Section, or of a base of it
  DeckKey& operator()(std::string name, Member member, std::string sentence) {
    using Value = std::remove_reference_t<decltype(std::declval<Section&>().*member)>;
    DeckKey key;
    key.section = section_;
    key.name = std::move(name);
    key.sentence = std::move(sentence);
    key.target = [part = part_, member](Deck& deck, std::size_t i) {
      return DeckTarget(&(part(deck, i).*member));
    };
    if constexpr (std::is_base_of_v<AnyChoice, Value> || std::is_base_of_v<AnyChoiceList, Value>)
      key.choices = (Section{}.*member).words();
    keys_.push_back(std::move(key));
    return keys_.back();
  }

 private:
  Keys& keys_;
  std::string section_;
  Part part_;
};

/// The rows of [parallel], [pipeline], [comm], [verbs], [device], [checkpoint], [detect],
/// [mitigate], [replicas] and [[inject]].
void add_machine_rows(Keys& keys);
/// Of them, those of [verbs], those of [detect] and [mitigate], those of [replicas], and those of
/// [[inject]].
void add_verbs_rows(Keys& keys);
void add_slowness_rows(Keys& keys);
void add_replicas_rows(Keys& keys);
void add_inject_rows(Keys& keys);

}  // namespace tenax::io
