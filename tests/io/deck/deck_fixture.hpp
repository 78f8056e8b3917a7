// Decks in a folder of their own, for tests of io/.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/deck/deck.hpp"
#include "kernels/error.hpp"

namespace tenax::io::test {

/// A directory that goes when the test does.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenax-io-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

/// Every required key, nothing else; line numbers matter to tests of messages.
inline const char* const kSmallDeck =
    "[run]\n"                    // 1
    "train_steps = 20\n"         // 2
    "[model]\n"                  // 3
    "num_layers = 4\n"           // 4
    "hidden_size = 64\n"         // 5
    "num_attention_heads = 4\n"  // 6
    "seq_length = 32\n"          // 7
    "vocab_size = 256\n"         // 8
    "[data]\n"                   // 9
    "train = \"text.txt\"\n"     // 10
    "[batch]\n"                  // 11
    "global_batch_size = 8\n"    // 12
    "[optimizer]\n"              // 13
    "lr = 1e-3\n";               // 14

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from);
  return text.replace(at, from.size(), to);
}

/// The small deck with the first `from` replaced.
inline std::string edited(const std::string& from, const std::string& to) {
  return replaced(kSmallDeck, from, to);
}
/// The small deck with more lines, the first of which is line 15.
inline std::string with(const std::string& lines) { return kSmallDeck + lines; }

/// All that an emulated run needs; 9 lines.
inline const char* const kEmulatedDeck =
    "[run]\n"
    "train_steps = 2\n"
    "[batch]\n"
    "global_batch_size = 12\n"
    "[device]\n"
    "kind = \"emulated\"\n"
    "forward_ms = 10\n"
    "backward_input_ms = 10\n"
    "backward_weight_ms = 10\n";

/// The deck of a text, read from a file d.toml that has a folder to itself.
inline Deck deck_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  return read_deck(folder.write("d.toml", text), overrides);
}

/// The message and status of what `work` throws; fails the test if it throws nothing.
template <class Work>
std::pair<std::string, int> error_of(const Work& work) {
  try {
    work();
  } catch (const kernels::Error& error) {
    return {error.what(), error.exit_status()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// A deck that is refused.
struct Mistake {
  std::string deck;
  std::vector<std::string> overrides;
  std::string message;  ///< how it begins; DECK stands for the deck's path
};

/// Expects one line, with its place, and status 2.
inline void expect_refused(const Mistake& mistake) {
  const TemporaryFolder folder;
  const auto file = folder.write("d.toml", mistake.deck);
  const auto [message, status] = error_of([&] { read_deck(file, mistake.overrides); });
  const std::string expected =
      mistake.message.starts_with("DECK") ? file.string() + mistake.message.substr(4) : mistake.message;
  EXPECT_EQ(message.substr(0, expected.size()), expected);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(status, 2);
}

}  // namespace tenax::io::test
