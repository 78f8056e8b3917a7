#include "io/deck/deck.hpp"

#include "io/deck/deck_check.hpp"
#include "io/deck/deck_fault_check.hpp"
#include "io/deck/deck_reader.hpp"
#include "io/deck/deck_resolve.hpp"
#include "io/text_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

Deck finish(DeckReader& reader, const std::filesystem::path& file) {
  reader.require_all();
  Deck deck = std::move(reader.deck());
  resolve(deck, file);
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

Deck read_deck(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  const std::string text = text_of(file);
  DeckReader reader(file.string());
  reader.read(text);
  for (const auto& override_text : overrides) reader.apply_override(override_text);
  Deck deck = finish(reader, file);
  check_traces(deck, reader.origins());
  return deck;
}

Deck parse_resolved_deck(const std::string& toml) {
  DeckReader reader("resolved deck");
  reader.read(toml);
  return finish(reader, "/deck.toml");
}

}  // namespace tenax::io
