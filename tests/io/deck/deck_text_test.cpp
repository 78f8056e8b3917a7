#include <algorithm>
#include <sstream>

#include "io/deck/deck_key.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

// To write the file anew after a change of the table: TENAX_UPDATE=1 build/tests/io/io_deck_test
TEST(ReferenceDeck, in_inputs_is_what_the_table_says) {
  const std::string path = TENAX_SOURCE_DIR "/inputs/reference.toml";
  if (getenv("TENAX_UPDATE")) std::ofstream(path, std::ios::binary) << reference_toml();
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, reference_toml());
}

TEST(ReferenceDeck, is_a_deck) {
  const TemporaryFolder folder;
  const Deck deck = read_deck(folder.write("reference.toml", reference_toml()), {});
  EXPECT_EQ(deck.run.train_steps, 100);
  EXPECT_EQ(deck.data.train.front().file, folder.path() / "train.txt");
}

/// Beside which keys an example makes sense.
std::vector<std::string> context_of(const DeckKey& key) {
  const auto is_of = [&](const char* kind) {
    return std::find(key.kinds.begin(), key.kinds.end(), kind) != key.kinds.end();
  };
  if (is_of("emulated"))
    return {"device.kind=emulated", "device.forward_ms=1", "device.backward_input_ms=1",
            "device.backward_weight_ms=1"};
  if (key.name.starts_with("store_")) return {"replicas.store=etcds://host:2379/run"};
  if (key.name == "zones") return {R"(replicas.hosts=["a", "b"])"};
  if (key.section != "inject") return {};
  std::vector<std::string> context = {"parallel.pipeline_parallel_size=2", "inject.0.kind=link_delay"};
  if (key.name != "ranks" && key.name != "replicas") context.emplace_back("inject.0.stages=[0, 1]");
  if (key.name != "trace" && key.name != "path") context.emplace_back("inject.0.delay_ms=1");
  if (key.name == "path") context[1] = "inject.0.kind=link_down";
  if (key.name == "replicas") context.emplace_back("parallel.replicas=2");
  if (key.name == "factor") context = {"inject.0.kind=slow_compute", "inject.0.rank=0"};
  if (is_of("bit_flip")) {
    context = {"inject.0.kind=bit_flip", "inject.0.replica=0"};
    if (key.name != "tensor") context.emplace_back("inject.0.tensor=wte.weight");
  }
  return context;
}

TEST(ReferenceDeck, has_examples_that_are_right_or_refused_as_of_a_later_version) {
  const TemporaryFolder folder;
  const auto file = folder.write("reference.toml", reference_toml());
  folder.write("delays.csv", "0,1\n");
  for (const auto& key : deck_keys()) {
    if (key.example_toml.empty()) continue;
    const std::string section = key.section == "inject" ? "inject.0" : key.section;
    std::vector<std::string> overrides = context_of(key);
    overrides.push_back(section + "." + key.name + "=" + key.example_toml);
    try {
      read_deck(file, overrides);
    } catch (const kernels::Error& error) {
      EXPECT_NE(std::string(error.what()).find(" is not supported by this version"), std::string::npos)
          << error.what();
    }
  }
}

TEST(DeckHelp, names_every_key_with_its_sentence) {
  const std::string help = deck_help();
  for (const auto& key : deck_keys()) {
    EXPECT_NE(help.find("\n  " + key.name + "\n"), std::string::npos) << key.full_name();
    EXPECT_TRUE(key.sentence.ends_with('.')) << key.full_name();
  }
}

TEST(DeckHelp, fits_into_a_hundred_columns) {
  std::istringstream lines(deck_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(DeckTable, declares_each_key_once_in_a_known_section) {
  for (const auto& key : deck_keys()) {
    EXPECT_EQ(find_key(key.section, key.name), &key) << key.full_name();
    EXPECT_TRUE(is_section(key.section)) << key.full_name();
  }
}

TEST(DeckTable, gives_each_key_a_place_of_its_own) {
  Deck deck;
  deck.inject.resize(1);
  std::vector<const void*> places;
  for (const auto& key : deck_keys()) {
    places.push_back(
        std::visit([](auto* place) { return static_cast<const void*>(place); }, key.target(deck, 0)));
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
}

TEST(DeckTable, has_defaults_that_its_own_checks_allow) {
  Deck deck;
  deck.inject.resize(1);
  for (const auto& key : deck_keys()) {
    if (key.is_required) continue;
    const DeckTarget target = key.target(deck, 0);
    if (const auto* whole = std::get_if<std::int64_t*>(&target)) {
      EXPECT_TRUE(key.range.contains(static_cast<double>(**whole))) << key.full_name();
    } else if (const auto* real = std::get_if<double*>(&target)) {
      EXPECT_TRUE(key.range.contains(**real)) << key.full_name();
    } else if (const auto* choice = std::get_if<AnyChoice*>(&target)) {
      EXPECT_EQ(key.choices, (*choice)->words()) << key.full_name();
      EXPECT_NE(std::find(key.choices.begin(), key.choices.end(), (*choice)->word()), key.choices.end())
          << key.full_name();
    } else if (const auto* text = std::get_if<std::string*>(&target); text && !key.choices.empty()) {
      if (key.may_be_empty && (*text)->empty()) continue;
      EXPECT_NE(std::find(key.choices.begin(), key.choices.end(), **text), key.choices.end())
          << key.full_name();
    }
  }
}

}  // namespace
}  // namespace tenax::io::test
