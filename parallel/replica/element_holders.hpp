// Which ranks hold which elements of a parameter: from an outlier in a checkpoint back to the
// machine that had it (ft-hsdp, section 2.2: "reversing the model-to-server mapping").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

/// Flat elements [begin, end) of an unsharded parameter.
struct ElementRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};

/// What one rank has of the elements that are asked for. Ranges are in increasing order, and do not
/// touch.
struct ElementHolder {
  int rank = 0;
  GridCoordinates at;
  std::vector<ElementRange> weights;  ///< its passes read
  std::vector<ElementRange> state;    ///< it updates: master weights and moments
  bool writes = false;                ///< checkpoints have its state; false: a copy's
};

/// The ranks of a replica that hold some of `elements` of the parameter, by rank. Empty where no
/// stage has a parameter of that name. Pure: the request and the grid say it all.
std::vector<ElementHolder> find_holders(const LayoutRequest& request, const ProcessGrid& grid,
                                        const std::string& parameter, ElementRange elements);

}  // namespace tenax::parallel
