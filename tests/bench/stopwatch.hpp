// Stopwatch: seconds and calls by name, for the breakdown of a step.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace tenax::bench {

/// Used by one thread.
class Stopwatch {
 public:
  struct Sum {
    double seconds = 0;
    long calls = 0;
  };

  template <class Work>
  void time(const std::string& name, Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    Sum& sum = sum_of_name_[name];
    sum.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++sum.calls;
  }
  void reset() { sum_of_name_.clear(); }
  const std::map<std::string, Sum>& sums() const { return sum_of_name_; }

 private:
  std::map<std::string, Sum> sum_of_name_;
};

}  // namespace tenax::bench
