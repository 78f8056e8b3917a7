// SortedValues: a few values in order, which come and go one by one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tenax::resilience {

/// For up to a few hundred values: each change moves what lies behind it.
class SortedValues {
 public:
  void insert(double value);
  /// `value` is among them.
  void erase(double value);
  void clear() { values_.clear(); }

  std::size_t size() const { return values_.size(); }
  /// Of at least one value; of two in the middle their mean.
  double median() const { return (lower_middle() + upper_middle()) / 2; }
  /// What the sum of absolute deviations from the median grows by when `value` is inserted.
  double deviation_of(double value) const;

 private:
  double lower_middle() const { return values_[(values_.size() - 1) / 2]; }
  double upper_middle() const { return values_[values_.size() / 2]; }

  std::vector<double> values_;
};

/// The median of the last values.
class SlidingMedian {
 public:
  explicit SlidingMedian(std::size_t window) : ring_(window) {}

  void add(double value);
  void clear();

  bool is_full() const { return sorted_.size() == ring_.size(); }
  bool is_empty() const { return sorted_.size() == 0; }
  /// Of at least one value.
  double median() const { return sorted_.median(); }

 private:
  std::vector<double> ring_;
  std::size_t next_ = 0;  // the place of the next value; of a full window, the oldest one's
  SortedValues sorted_;
};

/// Of at least one value, as above.
double median_of(std::span<const double> values);
/// Of at least one value; of two in the middle the lesser.
double lower_median_of(std::vector<double> values);
/// Of two in the middle the greater; 0 of none.
double upper_median_of(std::vector<double> values);

}  // namespace tenax::resilience
