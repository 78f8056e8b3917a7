// ProcessGrid: rank ↔ (tensor, pipeline, data) coordinates of one replica, and the groups that
// follow from them.
//
// Coordinates are logical: shards, random numbers, data and checkpoint keys are functions of them.
// Ranks are physical: addresses, measured delays and speeds belong to them. A run begins with rank p
// at position p. Ranks that change places while it trains make a grid of the next generation, whose
// connections have other names: those of an older one are refused.
#pragma once

#include <string>
#include <vector>

namespace tenax::parallel {

/// Sizes of the three axes, each ≥ 1.
struct GridShape {
  int tensor = 1, pipeline = 1, data = 1;
  int ranks() const { return tensor * pipeline * data; }
  bool operator==(const GridShape&) const = default;
};

struct GridCoordinates {
  int tensor = 0, pipeline = 0, data = 0;  ///< `pipeline` is the stage
  bool operator==(const GridCoordinates&) const = default;
};

/// Arguments of World::split_*: ranks of equal color form a group, in which a rank's place follows
/// its key.
struct GroupSplit {
  int color = 0, key = 0;
};

/// The groups a rank is in. Within a group a rank's number is its coordinate along that axis.
/// `embedding`: first and last stage of equal (tensor, data), which sum the tied embedding's
/// gradient; number 0 is the first stage, 1 the last. With one stage, and on stages in between, it
/// is a group of one.
enum class GroupKind { tensor, pipeline, data, embedding };

/// Immutable. Positions of the grid are numbered with tensor fastest, then data, then pipeline
/// (Megatron's "tp-dp-pp"): tensor groups, which talk most, sit on neighbouring ranks.
class ProcessGrid {
 public:
  /// The identity permutation, generation 0.
  explicit ProcessGrid(GridShape shape);
  /// rank_of_position: a permutation of 0 … shape.ranks() − 1. Throws Error(job) if it is none.
  ProcessGrid(GridShape shape, std::vector<int> rank_of_position, int generation);

  const GridShape& shape() const { return shape_; }
  int ranks() const { return shape_.ranks(); }
  int generation() const { return generation_; }
  const std::vector<int>& rank_of_position() const { return rank_of_position_; }

  GridCoordinates coordinates_of(int rank) const;
  int rank_of(const GridCoordinates& coordinates) const;

  GroupSplit split(GroupKind kind, int rank) const;
  /// The ranks of `rank`'s group, in group order; `rank` included.
  std::vector<int> group(GroupKind kind, int rank) const;
  /// For the connections of the `number`-th group or link of a kind: another name in each generation.
  std::string connection_name(const std::string& kind, int number) const;

 private:
  GridShape shape_;
  int generation_;
  std::vector<int> rank_of_position_, position_of_rank_;
};

/// "tensor", "pipeline", "data" or "embedding", for error messages.
const char* name_of(GroupKind kind);

}  // namespace tenax::parallel
