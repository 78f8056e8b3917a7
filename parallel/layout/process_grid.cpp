#include "parallel/layout/process_grid.hpp"

#include <cassert>
#include <numeric>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::parallel {
namespace {

std::vector<int> identity(int size) {
  std::vector<int> permutation(static_cast<std::size_t>(size));
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

/// Throws when `permutation` is not one of 0 … size − 1.
std::vector<int> inverse_of(const std::vector<int>& permutation) {
  std::vector<int> inverse(permutation.size(), -1);
  for (std::size_t from = 0; from < permutation.size(); ++from) {
    const int to = permutation[from];
    if (to < 0 || to >= static_cast<int>(permutation.size()) || inverse[static_cast<std::size_t>(to)] >= 0)
      throw kernels::Error(kernels::Scope::job, "process grid: position " + std::to_string(from) +
                                                    " is given rank " + std::to_string(to) +
                                                    ", which is out of range or taken");
    inverse[static_cast<std::size_t>(to)] = static_cast<int>(from);
  }
  return inverse;
}

}  // namespace

ProcessGrid::ProcessGrid(GridShape shape) : ProcessGrid(shape, identity(shape.ranks()), 0) {}

ProcessGrid::ProcessGrid(GridShape shape, std::vector<int> rank_of_position, int generation)
    : shape_(shape),
      generation_(generation),
      rank_of_position_(std::move(rank_of_position)),
      position_of_rank_(inverse_of(rank_of_position_)) {
  assert(shape.tensor >= 1 && shape.pipeline >= 1 && shape.data >= 1);
  if (static_cast<int>(rank_of_position_.size()) != shape.ranks())
    throw kernels::Error(kernels::Scope::job, "process grid: " + std::to_string(rank_of_position_.size()) +
                                                  " ranks given for a grid of " +
                                                  std::to_string(shape.ranks()));
}

GridCoordinates ProcessGrid::coordinates_of(int rank) const {
  assert(rank >= 0 && rank < ranks());
  const int position = position_of_rank_[static_cast<std::size_t>(rank)];
  return {.tensor = position % shape_.tensor,
          .pipeline = position / (shape_.tensor * shape_.data),
          .data = position / shape_.tensor % shape_.data};
}

int ProcessGrid::rank_of(const GridCoordinates& at) const {
  assert(at.tensor >= 0 && at.tensor < shape_.tensor && at.data >= 0 && at.data < shape_.data);
  assert(at.pipeline >= 0 && at.pipeline < shape_.pipeline);
  const int position = at.tensor + shape_.tensor * (at.data + shape_.data * at.pipeline);
  return rank_of_position_[static_cast<std::size_t>(position)];
}

GroupSplit ProcessGrid::split(GroupKind kind, int rank) const {
  const GridCoordinates at = coordinates_of(rank);
  const int pipeline_color = at.tensor + shape_.tensor * at.data;
  switch (kind) {
    case GroupKind::tensor:
      return {at.data + shape_.data * at.pipeline, at.tensor};
    case GroupKind::data:
      return {at.tensor + shape_.tensor * at.pipeline, at.data};
    case GroupKind::pipeline:
      return {pipeline_color, at.pipeline};
    case GroupKind::embedding:
      break;
  }
  const int last = shape_.pipeline - 1;
  if (at.pipeline == 0 || at.pipeline == last) return {pipeline_color, at.pipeline == 0 ? 0 : 1};
  // A stage in between: a group of its own, of a color beyond those of all pipelines.
  return {pipeline_color + shape_.tensor * shape_.data * at.pipeline, 0};
}

std::vector<int> ProcessGrid::group(GroupKind kind, int rank) const {
  GridCoordinates at = coordinates_of(rank);
  std::vector<int> ranks;
  const auto walk = [&](int& coordinate, int extent) {
    for (coordinate = 0; coordinate < extent; ++coordinate) ranks.push_back(rank_of(at));
  };
  const int last = shape_.pipeline - 1;
  switch (kind) {
    case GroupKind::tensor:
      walk(at.tensor, shape_.tensor);
      break;
    case GroupKind::data:
      walk(at.data, shape_.data);
      break;
    case GroupKind::pipeline:
      walk(at.pipeline, shape_.pipeline);
      break;
    case GroupKind::embedding:
      if (last == 0 || (at.pipeline != 0 && at.pipeline != last)) return {rank};
      for (const int stage : {0, last})
        ranks.push_back(rank_of({.tensor = at.tensor, .pipeline = stage, .data = at.data}));
      break;
  }
  return ranks;
}

std::string ProcessGrid::connection_name(const std::string& kind, int number) const {
  return kind + "." + std::to_string(generation_) + "." + std::to_string(number);
}

const char* name_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor:
      return "tensor";
    case GroupKind::pipeline:
      return "pipeline";
    case GroupKind::data:
      return "data";
    case GroupKind::embedding:
      return "embedding";
  }
  return "";
}

}  // namespace tenax::parallel
