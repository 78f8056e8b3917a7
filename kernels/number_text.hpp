// Numbers in texts that other processes, other ranks or users have written.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace tenax::kernels {

/// A number and nothing else: no blank, no sign +. Nothing where `text` is something else, or its number does not fit
/// into a Number. `base`: of an integer's digits (10).
template <class Number, class... Base>
std::optional<Number> number_of(std::string_view text, Base... base) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  const bool is_whole = code == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

/// What stands before the first `mark` of `text`, which loses both. Of a text without one all is taken.
inline std::string_view take_word(std::string_view& text, char mark = ' ') {
  const std::string_view word = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

/// A number that another rank has sent. Throws Error of scope rank where it is none: `what` names it there.
template <class Number>
Number sent_number(std::string_view text, std::string_view what) {
  if (const auto number = number_of<Number>(text)) return *number;
  throw Error(Scope::rank,
              "a rank sent '" + std::string(text) + "' as " + std::string(what) + ", which is no number");
}

}  // namespace tenax::kernels
