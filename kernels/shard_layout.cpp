#include "kernels/shard_layout.hpp"

#include <algorithm>

namespace tenax::kernels {

Shape ShardLayout::local() const {
  const std::int64_t whole = padded_extent ? padded_extent : logical[axis];
  assert(whole % (static_cast<std::int64_t>(parts) * sections) == 0);
  const std::int64_t extent = whole / parts;
  if (logical.rank() == 1) return Shape{extent};
  return axis == 0 ? Shape{extent, logical[1]} : Shape{logical[0], extent};
}

void ShardLayout::for_each_run(std::int64_t begin, std::int64_t end,
                               const std::function<void(const Run&)>& visit) const {
  assert(sections == 1 || padded_extent == 0 || padded_extent == logical[axis]);
  const Shape shape = local();
  // Everything is seen as [outer, axis, inner]; a run is one section's share of one outer index.
  const std::int64_t inner = (axis == 0 && logical.rank() == 2) ? logical[1] : 1;
  const std::int64_t local_axis = shape[axis];
  const std::int64_t share = local_axis / sections;  // axis extent of one section's share
  const std::int64_t section_extent = share * parts;
  const std::int64_t logical_axis = logical[axis];
  std::int64_t position = begin;
  while (position < end) {
    const std::int64_t outer = position / (local_axis * inner);
    const std::int64_t within = position % (local_axis * inner);
    const std::int64_t section = within / (share * inner);
    const std::int64_t in_share = within % (share * inner);
    const std::int64_t count = std::min(end - position, share * inner - in_share);
    const std::int64_t axis_begin = section * section_extent + index * share;
    const std::int64_t real =
        std::clamp<std::int64_t>((logical_axis - axis_begin) * inner - in_share, 0, count);
    if (real > 0) visit({position, (outer * logical_axis + axis_begin) * inner + in_share, real});
    position += count;
  }
}

}  // namespace tenax::kernels
