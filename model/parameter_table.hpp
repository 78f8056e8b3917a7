// ParameterTable: the named parameters of one rank as rows of flat buffers. Zeroing, norm,
// reduction, optimizer and checkpoint walk the rows; nobody else needs to know what a
// model is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/shard_layout.hpp"
#include "kernels/tensor.hpp"

namespace tenax::model {

/// How a new model starts (GPT-2): N(0, 0.02), residual projections N(0, 0.02/sqrt(2·layers)),
/// zeros, ones.
enum class Initialisation { normal, residual_projection, zeros, ones };

struct ParameterRow {
  std::string name;             ///< Hugging Face name, e.g. "h.0.attn.c_attn.weight"
  kernels::ShardLayout layout;  ///< logical shape, and this rank's part of it
  Initialisation initialisation = Initialisation::zeros;
  /// Another rank of the replica counts these elements in the norm and writes them to
  /// checkpoints: they are replicated over the tensor group, or the tied embedding's second copy
  /// (last stage of several).
  bool counted_elsewhere = false;
  std::int64_t offset = -1;  ///< first element in the flat buffers; -1 until placed

  std::int64_t size() const { return layout.local().size(); }
  bool decays() const { return layout.logical.rank() == 2; }
};

class ParameterTable {
 public:
  /// Appends a row; returns its index. Names are unique.
  int add(ParameterRow row);
  /// Gives each row its place in the flat buffers (one offset a row).
  void place(const std::vector<std::int64_t>& offsets);

  const std::vector<ParameterRow>& rows() const { return rows_; }
  const ParameterRow& row(int index) const { return rows_[static_cast<std::size_t>(index)]; }
  /// This row's part of a flat buffer (weights or gradients), in its local shape.
  kernels::Tensor view(const kernels::Tensor& flat, int index) const;

 private:
  std::vector<ParameterRow> rows_;
};

}  // namespace tenax::model
