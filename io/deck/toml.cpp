#define TOML_IMPLEMENTATION
#include "io/deck/toml.hpp"

#include <string_view>

#include "io/text.hpp"

namespace tenax::io {
namespace {

constexpr int kMostDots = 32;

/// Walks over a text and stops at what is outside of quotes and comments.
class SyntaxScan {
 public:
  explicit SyntaxScan(std::string_view text) : rest_(without_byte_order_mark(text)) {}

  void run() {
    int dots = 0;  // of the key, or number, that began last
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        while (!rest_.empty() && rest_.front() != '\n') step();
        continue;
      }
      if (static_cast<unsigned char>(c) >= 0x80)
        throw SyntaxFault{position_, "not TOML: " + character_name(rest_) +
                                         " stands outside of quotes and comments, where only ASCII may"};
      if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
      if (c == '.' && ++dots > kMostDots)
        throw SyntaxFault{position_, "a key has more than " + std::to_string(kMostDots) + " parts"};
      step();
    }
  }

 private:
  /// Over one character; bytes that are none of UTF-8 count as one each.
  void step() {
    const std::size_t length = utf8_length(rest_);
    const bool ends_line = rest_.front() == '\n';
    rest_.remove_prefix(length == 0 ? 1 : length);
    position_ = ends_line ? Position{position_.line + 1, 1} : Position{position_.line, position_.column + 1};
  }
  void step(std::size_t characters) {
    for (; characters > 0 && !rest_.empty(); --characters) step();
  }

  /// Over a string, to its end or, where it has none, to that of the line or text.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = rest_.starts_with(three);
    step(is_long ? 3 : 1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (!is_long && c == '\n') return;
      if (is_long ? rest_.starts_with(three) : c == quote) break;
      step(c == '\\' && quote == '"' ? 2 : 1);
    }
    step(is_long ? 3 : 1);
    for (int i = 0; i < 2 && is_long && rest_.starts_with(quote); ++i)
      step();  // """a""""" ends in two quotes
  }

  std::string_view rest_;
  Position position_;
};

}  // namespace

toml::table parse_toml(const std::string& text) {
  SyntaxScan(text).run();
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const auto begin = error.source().begin;
    throw SyntaxFault{{begin.line, begin.column}, "not TOML: " + std::string(error.description())};
  }
}

}  // namespace tenax::io
