#include "model/parameter_table.hpp"

#include <algorithm>

namespace tenax::model {

int ParameterTable::add(ParameterRow row) {
  assert(std::none_of(rows_.begin(), rows_.end(),
                      [&](const ParameterRow& other) { return other.name == row.name; }));
  rows_.push_back(std::move(row));
  return static_cast<int>(rows_.size()) - 1;
}

void ParameterTable::place(const std::vector<std::int64_t>& offsets) {
  assert(offsets.size() == rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].offset = offsets[i];
}

kernels::Tensor ParameterTable::view(const kernels::Tensor& flat, int index) const {
  const ParameterRow& entry = row(index);
  assert(entry.offset >= 0);
  return flat.part(entry.offset, entry.layout.local());
}

}  // namespace tenax::model
