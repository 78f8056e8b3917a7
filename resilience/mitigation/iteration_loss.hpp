// IterationLoss: what iterations take, and how much of that is lost to what is slow.
#pragma once

#include <cstdint>
#include <deque>

#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/mitigation/ski_rental.hpp"

namespace tenax::resilience {

/// Pure.
class IterationLoss {
 public:
  /// So many iterations tell how long one takes.
  static constexpr std::size_t kSettled = 8;
  /// Fewer say too little.
  static constexpr std::size_t kFewest = kSettled / 2;

  /// `is_lossy`: something is known to be slow. `is_masked`: it says nothing of what
  /// one takes, and what it lost counts for lost_s() alone: it buys nothing.
  void add(std::int64_t number, double seconds, bool is_lossy, bool is_masked = false);
  /// What is found says what a healthy one takes. `was_well`: nothing else is known to be slow. Returns what is lost to it.
  LostTime take(const FailSlow& found, bool was_well);
  /// All is healthy again.
  void close() { since_healthy_s_ = 0; }

  double healthy_s() const { return healthy_s_; }
  /// Another placement is in force: iterations before it do not tell how long one takes any more.
  void begin_placement() { under_placement_ = 0; }
  /// Enough iterations under the placement in force tell how long one takes.
  bool knows_recent() const { return under_placement_ >= kFewest; }
  /// Under the placement in force; under the one before it where no iteration tells yet.
  double recent_s() const;
  /// What iterations took beyond healthy ones while something was slow, since the onset of what was found.
  double lost_s() const { return lost_s_; }

 private:
  struct Iteration {
    std::int64_t number;
    double seconds;
  };
  using Iterations = std::deque<Iteration>;
  static void remember(const Iteration& iteration, Iterations& iterations);
  double loss_since(std::int64_t onset, const Iterations& iterations) const;

  Iterations iterations_, masked_;
  std::size_t under_placement_ = kSettled;  // iterations that tell; those before the first action all do
  double healthy_s_ = 0;
  double lost_s_ = 0;
  double since_healthy_s_ = 0;  // what of it can buy a restart: since all was healthy, masked ones left out
};

}  // namespace tenax::resilience
