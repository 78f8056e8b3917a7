#include "io/tokenizer/bpe_split.hpp"

#include "io/tokenizer/tokenizer.hpp"
#include "io/tokenizer/unicode_class.hpp"

namespace tenax::io {
namespace {

/// Of the contraction whose apostrophe is at `begin`; 0 if it is none.
std::ptrdiff_t contraction_length(const char* begin, const char* end) {
  const std::string_view rest(begin + 1, static_cast<std::size_t>(end - begin - 1));
  if (rest.empty()) return 0;
  switch (rest.front()) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return rest.starts_with("re") || rest.starts_with("ve") ? 3 : 0;
    case 'l':
      return rest.starts_with("ll") ? 3 : 0;
    default:
      return 0;
  }
}

const char* end_of_run(const char* at, const char* end, CharacterClass kind) {
  while (at != end) {
    const Character character = character_at(at, end);
    if (character.kind != kind) break;
    at += character.length;
  }
  return at;
}

/// `\s+(?!\S)|\s+`: the last of several spaces is left to the word that follows.
const char* end_of_space(const char* begin, const char* end) {
  const char *at = begin, *last = begin;
  while (at != end) {
    const Character character = character_at(at, end);
    if (character.kind != CharacterClass::space) break;
    last = at;
    at += character.length;
  }
  return at == end || last == begin ? at : last;
}

/// Between these two characters a word ends, and what stands on one side has no say in how the other is cut: runs of
/// letters or numbers end where their class does, runs of others where a space begins (not before a letter: an
/// apostrophe may be a contraction's), and a space that follows is the first of its run.
bool ends_word(CharacterClass before, CharacterClass after) {
  if (before == CharacterClass::letter || before == CharacterClass::number) return before != after;
  return before == CharacterClass::other && after == CharacterClass::space;
}

/// The one place within kEndOfText where classes would allow a cut.
bool is_within_end_of_text(std::string_view text, std::size_t at) {
  constexpr std::size_t kTail = 2;
  constexpr auto kHead = kEndOfText.substr(0, kEndOfText.size() - kTail);
  return text.substr(at).starts_with(kEndOfText.substr(kHead.size())) && text.substr(0, at).ends_with(kHead);
}

}  // namespace

const char* word_end(const char* begin, const char* end) {
  if (*begin == '\'') {
    if (const std::ptrdiff_t length = contraction_length(begin, end); length > 0) return begin + length;
  }
  Character first = character_at(begin, end);
  const char* body = begin;
  if (*begin == ' ' && begin + 1 != end) {
    const Character next = character_at(begin + 1, end);
    if (next.kind != CharacterClass::space) {
      first = next;
      ++body;
    }
  }
  if (first.kind == CharacterClass::space) return end_of_space(begin, end);
  return end_of_run(body + first.length, end, first.kind);
}

std::size_t last_cut_between_words(std::string_view text) {
  // The character behind the cut must be there as a whole, and is known to be from four bytes on.
  constexpr std::size_t kLongestCharacter = 4;
  if (text.size() <= kLongestCharacter) return 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  for (std::size_t at = text.size() - kLongestCharacter; at > 0; --at) {
    const CharacterClass before = character_before(begin, begin + at).kind;
    const CharacterClass after = character_at(begin + at, end).kind;
    if (ends_word(before, after) && !is_within_end_of_text(text, at)) return at;
  }
  return 0;
}

}  // namespace tenax::io
