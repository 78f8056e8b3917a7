// Decks with overrides: the deck up to the first NUL, an override from there to the next one, and so on. A deck that is
// accepted is resolved into one that reads back as the same.
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '\0')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::filesystem::path inputs = std::filesystem::path(TENAX_SOURCE_DIR) / "inputs";
  const auto overridden = [](const std::string& deck, const std::string& override_text) {
    return deck + std::string(1, '\0') + override_text;
  };
  std::vector<std::string> texts = {
      io::test::kSmallDeck,
      io::test::kEmulatedDeck,
      overridden(io::test::kSmallDeck, "inject.0.kind=link_down"),
      overridden(io::test::kSmallDeck, "data.train=[\"a.h5\", \"b.bin\"]"),
      overridden(io::test::kEmulatedDeck, "device.forward_ms=[1, 2.5]"),
  };
  for (const char* name : {"reference.toml", "quickstart.toml", "gpt2-124m.toml"})
    texts.push_back(file_text(inputs / name));
  return texts;
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  auto parts = fuzz::split_at_nul(fuzz::text_of(data, size));
  const auto file = folder.write("deck.toml", parts.front());
  parts.erase(parts.begin());
  io::Deck deck;
  if (!fuzz::accepts([&] { deck = io::read_deck(file, parts); })) return 0;
  const std::string resolved = io::to_toml(deck);
  fuzz::require(io::to_toml(io::parse_resolved_deck(resolved)) == resolved,
                "a resolved deck reads back as the same deck");
  return 0;
}
