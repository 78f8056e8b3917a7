#pragma once

#include "model/parameter_table.hpp"

namespace tenax::parallel {

/// Parameters of one and two dimensions.
inline model::ParameterTable small_table() {
  model::ParameterTable table;
  const auto row = [](const char* name, kernels::Shape shape) {
    model::ParameterRow entry;
    entry.name = name;
    entry.layout.logical = shape;
    return entry;
  };
  table.add(row("wte.weight", {37, 16}));
  table.add(row("h.0.weight", {16, 48}));
  table.add(row("h.0.bias", {48}));
  return table;
}

}  // namespace tenax::parallel
