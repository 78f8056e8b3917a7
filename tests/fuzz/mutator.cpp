#include "tests/fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace tenax::fuzz {
namespace {

// Where sizes and indices go wrong.
constexpr std::array<std::uint64_t, 12> kWords = {0,          1,           0x7F,        0xFF,
                                                  0xFFFF,     0x7FFFFFFF,  0x80000000,  0xFFFFFFFF,
                                                  0x10000000, 1ULL << 40U, ~0ULL >> 1U, ~0ULL};
constexpr std::array<std::string_view, 12> kNumbers = {"0",
                                                       "-1",
                                                       "1e999",
                                                       "nan",
                                                       "65536",
                                                       "2147483648",
                                                       "9223372036854775807",
                                                       "18446744073709551616",
                                                       "0.5",
                                                       "1e-320",
                                                       "\"text\"",
                                                       "[1, [], {}]"};

}  // namespace

std::string Mutator::next(const std::vector<std::string>& inputs) {
  std::string input = inputs[below(inputs.size())];
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(input, inputs);
  input.resize(std::min(input.size(), kLongest));
  return input;
}

void Mutator::change(std::string& input, const std::vector<std::string>& inputs) {
  switch (below(8)) {
    case 0:
    case 1:
      return damage_byte(input);
    case 2:
      return damage_word(input);
    case 3:
      return replace_number(input);
    case 4:
      return remove_part(input);
    case 5:
      return repeat_part(input);
    case 6:
      return splice(input, inputs[below(inputs.size())]);
    default:
      return input.resize(below(input.size() + 1));
  }
}

void Mutator::damage_byte(std::string& input) {
  if (input.empty()) return input.push_back(static_cast<char>(below(256)));
  char& byte = input[below(input.size())];
  byte = static_cast<char>(below(2) == 0 ? byte ^ (1 << below(8)) : static_cast<int>(below(256)));
}

void Mutator::damage_word(std::string& input) {
  const std::uint64_t word = kWords[below(kWords.size())];
  const std::size_t bytes = std::min<std::size_t>(std::size_t{1} << below(4), input.size());
  if (bytes > 0) std::memcpy(input.data() + below(input.size() - bytes + 1), &word, bytes);
}

void Mutator::replace_number(std::string& input) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t first = input.find_first_of(kDigits, below(input.size()));
  if (first == std::string::npos) return;
  const std::size_t end = std::min(input.find_first_not_of(kDigits, first), input.size());
  input.replace(first, end - first, kNumbers[below(kNumbers.size())]);
}

void Mutator::remove_part(std::string& input) {
  const std::size_t begin = below(input.size());
  input.erase(begin, 1 + below(std::min<std::size_t>(input.size() - begin, 64)));
}

void Mutator::repeat_part(std::string& input) {
  const std::size_t begin = below(input.size());
  const std::string part = input.substr(begin, 1 + below(64));
  for (std::size_t times = 1 + below(8); times > 0; --times) input.insert(begin, part);
}

void Mutator::splice(std::string& input, const std::string& other) {
  input.resize(below(input.size() + 1));
  input += std::string_view(other).substr(below(other.size() + 1));
}

}  // namespace tenax::fuzz
