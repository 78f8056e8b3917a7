// Call logs of programs whose iteration times are known.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "io/run/call_log.hpp"

namespace tenax::resilience {

/// Writes a log call by call. Iterations take a second, less or more by 2 %.
class CallPattern {
 public:
  explicit CallPattern(unsigned seed = 1) : random_(seed) {}

  /// One iteration: a call a letter, unevenly over `seconds`. The true time of it is kept.
  void iteration(const std::string& calls, double seconds = 1) {
    seconds *= std::normal_distribution(1.0, 0.02)(random_);
    truth_.push_back(seconds);
    add(calls, seconds);
  }
  /// Calls outside of iterations.
  void other(const std::string& calls, double seconds) { add(calls, seconds); }
  /// A call whose bytes are its own alone.
  void call(char name, std::int64_t bytes) {
    const auto [place, is_new] = number_of_.try_emplace({std::string(1, name), bytes, 8},
                                                        static_cast<std::uint32_t>(log_.kinds.size()));
    if (is_new) log_.kinds.push_back(place->first);
    log_.seconds.push_back(now_);
    log_.kind_of_call.push_back(place->second);
  }
  /// Any number in [0, most].
  std::int64_t any(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  const io::CallLog& log() const { return log_; }
  const std::vector<double>& truth() const { return truth_; }

 private:
  /// The gaps between calls have their own lengths in each iteration.
  void add(const std::string& calls, double seconds) {
    std::vector<double> gaps;
    double sum = 0;
    for (std::size_t gap = 0; gap < calls.size(); ++gap)
      sum += gaps.emplace_back((1 + gap % 5) * std::normal_distribution(1.0, 0.1)(random_));
    for (std::size_t next = 0; next < calls.size(); ++next) {
      call(calls[next], calls[next] == '?' ? any(1 << 30) : bytes_of(calls[next]));
      now_ += gaps[next] / sum * seconds;
    }
  }
  /// Small ones in small letters.
  static std::int64_t bytes_of(char call) { return call >= 'a' ? 8 : 1 << 20; }

  std::mt19937 random_;
  std::map<io::CallKind, std::uint32_t> number_of_;
  io::CallLog log_;
  std::vector<double> truth_;
  double now_ = 1000;
};

/// `calls`, so many times.
inline std::string times(std::size_t count, const std::string& calls) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += calls;
  return all;
}

}  // namespace tenax::resilience
