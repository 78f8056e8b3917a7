// SlowPeers: which of some parts, all of which do the same in every iteration, take longer than the
// others for long. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tenax::resilience {

/// A part is slow in an iteration where it takes more than `suspect` × the median of the others (the
/// lower one of an even number), and longer by more than noise. Without others it is its own healthy
/// past that counts. It is told once it was slow in 20 of 24 iterations, and once it has healed: in 7
/// of 8 it was not slow. One thread.
class SlowPeers {
 public:
  /// Whatever tells parts apart: a replica twice, or the two ends of a link.
  using Part = std::pair<int, int>;
  struct Figure {
    Part part;
    double work = 0;  ///< parts of equal work are compared
    double seconds = 0;
  };
  struct Change {
    Part part;
    bool is_slow = false;    ///< else it has healed
    double factor = 1;       ///< to the others, in the median of the last iterations
    std::int64_t since = 0;  ///< the first slow iteration
  };

  explicit SlowPeers(double suspect) : suspect_(suspect) {}

  /// Of the iterations to come.
  void set_suspect(double suspect) { suspect_ = suspect; }
  /// Of one iteration. A part that is not among them is forgotten, unless it has been told to be slow.
  /// An excess below `floor_s` is noise.
  std::vector<Change> add(std::int64_t iteration, const std::vector<Figure>& figures, double floor_s);
  /// Parts that are not any more, or begin anew.
  void forget(const std::function<bool(const Part&)>& is_gone) {
    std::erase_if(states_, [&](const auto& entry) { return is_gone(entry.first); });
  }

 private:
  struct Look {
    std::int64_t iteration;
    double ratio;
    bool is_slow;
  };
  struct State {
    std::deque<Look> looks;
    std::deque<double> healthy_s;
    bool is_slow = false;
    std::int64_t since = 0;
  };
  std::optional<double> expected_s(const Figure& figure, const std::vector<Figure>& figures) const;
  static std::size_t count_slow(const std::deque<Look>& looks, std::size_t last);
  static double median_ratio(const std::deque<Look>& looks, std::size_t last);
  static std::optional<Change> judge(const Part& part, State& state);

  double suspect_;
  std::map<Part, State> states_;
};

}  // namespace tenax::resilience
