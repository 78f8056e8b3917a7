// PartComparison: which of the parts of one kind have become slow (Greyhound, ATC 2025, 4.3:
// cross-group comparison).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace tenax::resilience {

/// Of an iteration: an excess below it is noise.
inline constexpr double kNoiseShare = 0.03;

/// A part and what was measured of it.
struct PartFigure {
  double work = 0;       ///< parts of equal work are peers: a stage, or bytes
  double now_s = 0;      ///< since the slowdown began; at the least, where that is not known for sure
  double healthy_s = 0;  ///< before it; 0 = no history
  double floor_s = 0;    ///< a smaller excess is noise
  double most_s = 0;     ///< what it takes now at the most; 0 = now_s

  double at_most_s() const { return std::max(now_s, most_s); }
};

/// Immutable. A part is suspect when three things hold:
///
/// - It takes more than `suspect` × what its peers take: their median, the lower one of an even
///   number. Where the peers took less before, it is that which counts, so that a stage of which
///   all ranks have become slow is found, and a part without peers too.
/// - It has become slower itself, by more than half of what `suspect` asks: a part that always was
///   slower is not suspect.
/// - Its excess is no noise.
///
/// What three quarters of all parts, whatever their work, have become slower by is no part's own:
/// it is taken off history. A part without history has its peers alone. One of which only is known what
/// it takes at the most says nothing of what all share.
class PartComparison {
 public:
  PartComparison(std::vector<PartFigure> parts, double suspect);

  std::size_t size() const { return parts_.size(); }
  bool is_suspect(std::size_t part) const;
  /// What it took before, else what its peers take.
  double healthy_s(std::size_t part) const;
  double factor(std::size_t part) const { return parts_[part].now_s / healthy_s(part); }
  double excess_s(std::size_t part) const { return parts_[part].now_s - healthy_s(part); }
  /// What three quarters of all parts have become slower by; at least 1.
  double shared_growth() const { return shared_growth_; }
  /// No part is suspect, but three quarters of two or more have become slower by `suspect`.
  bool is_common() const;

 private:
  struct Level {  // of parts of equal work
    std::vector<double> now_s, healthy_s;
  };
  double growth(const PartFigure& part) const;
  double expected_s(const PartFigure& part) const;

  std::vector<PartFigure> parts_;
  double suspect_;
  std::map<double, Level> level_of_work_;
  double shared_growth_ = 1;
};

}  // namespace tenax::resilience
