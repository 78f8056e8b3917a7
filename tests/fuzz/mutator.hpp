// Mutator: inputs made from others by small damage, the same ones each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tenax::fuzz {

class Mutator {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 16;  ///< bytes that no input grows beyond

  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  /// One of `inputs`, of which there is at least one, with one to four changes.
  std::string next(const std::vector<std::string>& inputs);

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  void change(std::string& input, const std::vector<std::string>& inputs);
  void damage_byte(std::string& input);
  void damage_word(std::string& input);
  void replace_number(std::string& input);
  void remove_part(std::string& input);
  void repeat_part(std::string& input);
  void splice(std::string& input, const std::string& other);

  std::mt19937_64 random_;  // its sequence is the same with every library
};

}  // namespace tenax::fuzz
