// PlacementTimes: how long an iteration takes with tensor groups at given places of the grid.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "parallel/layout/process_grid.hpp"

namespace tenax::resilience {

/// What parts of an iteration take, as an evaluator predicts it. Speeds and delays belong to the
/// groups, which are physical; work and bytes to the stages.
struct GridTimes {
  /// Of a pipeline's passes. `groups`: the tensor group of each stage.
  std::function<double(std::span<const int> groups)> pipeline_s;
  /// Of the collectives of a stage's data groups. `groups`: the tensor group of each data rank.
  std::function<double(int stage, std::span<const int> groups)> data_s;
  double optimizer_s = 0;
};

/// Pure, but for the memory of what was asked. A place is a position of the grid without its tensor
/// axis: data + shape.data × stage. Groups that are not suspects are taken to be alike, so that each
/// arrangement of suspects in a pipeline or data group is asked for once.
class PlacementTimes {
 public:
  struct Score {
    double iteration_s = 0;  ///< the slowest pipeline, the slowest data group and the optimizer
    int slowest = 0;         ///< how many pipelines and data groups take as long as those
    /// Clearly, not by rounding.
    bool is_quicker(const Score& other) const;
    /// Quicker, or as quick with fewer that would have to become quicker.
    bool is_below(const Score& other) const;
  };

  /// group_of_place: a permutation. `suspects`: groups.
  PlacementTimes(parallel::GridShape shape, GridTimes times, std::vector<int> group_of_place,
                 std::span<const int> suspects);

  const std::vector<int>& group_of_place() const { return group_of_place_; }
  int places() const { return static_cast<int>(group_of_place_.size()); }
  Score score() const;
  /// After an exchange of the groups at two places, which is not made.
  Score score_with(int place, int other);
  void exchange(int place, int other);

 private:
  using Groups = std::vector<int>;

  void measure(int place);
  double pipeline_s(int data);
  double data_s(int stage);
  Groups arrangement(const Groups& groups) const;

  parallel::GridShape shape_;
  GridTimes times_;
  std::vector<int> group_of_place_;
  std::vector<bool> is_suspect_;
  std::vector<double> pipelines_s_, data_groups_s_;  // by data rank, by stage
  std::map<Groups, double> known_pipelines_s_;       // of an arrangement
  std::vector<std::map<Groups, double>> known_data_groups_s_;
};

}  // namespace tenax::resilience
