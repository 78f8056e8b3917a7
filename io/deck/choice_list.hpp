// ChoiceList: a deck's value that lists some of a few words, each at most once, as an enum's values.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "io/deck/choice.hpp"

namespace tenax::io {

/// What a ChoiceList is for readers and writers of decks, which know no enum.
class AnyChoiceList {
 public:
  const Words& words() const { return *words_; }  ///< all there are
  bool empty() const { return indices_.empty(); }
  /// Those in the list, in its order.
  Words listed() const {
    Words listed;
    for (const std::size_t index : indices_) listed.push_back((*words_)[index]);
    return listed;
  }
  void clear() { indices_.clear(); }
  /// Appends `word`, which must be one of words().
  void add(std::string_view word) {
    indices_.push_back(
        static_cast<std::size_t>(std::find(words_->begin(), words_->end(), word) - words_->begin()));
  }

 protected:
  AnyChoiceList(const Words& words, std::vector<std::size_t> indices)
      : words_(&words), indices_(std::move(indices)) {}
  const std::vector<std::size_t>& indices() const { return indices_; }

 private:
  const Words* words_;
  std::vector<std::size_t> indices_;
};

/// Of an enum all of whose enumerators decks may say.
template <class E>
class ChoiceList : public AnyChoiceList {
 public:
  ChoiceList(std::initializer_list<E> values) : AnyChoiceList(words_of(E{}), {}) {
    for (const E value : values) add(words()[static_cast<std::size_t>(value)]);
  }
  std::vector<E> values() const {
    std::vector<E> values;
    for (const std::size_t index : indices()) values.push_back(static_cast<E>(index));
    return values;
  }
  bool has(E value) const {
    return std::find(indices().begin(), indices().end(), static_cast<std::size_t>(value)) != indices().end();
  }
};

}  // namespace tenax::io
