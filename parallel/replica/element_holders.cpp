#include "parallel/replica/element_holders.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "parallel/layout/stage_partition.hpp"
#include "parallel/replica/paper_group.hpp"

namespace tenax::parallel {
namespace {

/// The tables of parameters of the ranks of a run.
class PaperStages {
 public:
  explicit PaperStages(const LayoutRequest& request)
      : request_(request), device_(kernels::create_cpu_device()), stream_(device_->create_stream()) {
    constexpr double kAnyRate = 1e12;  // the cut goes by how costs compare
    spans_ =
        partition_stages(request.model, request.grid.pipeline,
                         estimate_layer_costs(request.model, static_cast<double>(request.microbatch.rows()),
                                              request.grid.tensor, kAnyRate));
  }
  model::ParameterTable table(int stage, int tensor) const {
    PaperGroup group(request_.grid.tensor, tensor);
    return model::GptStage(request_.model, spans_[static_cast<std::size_t>(stage)], group, *device_, *stream_)
        .parameters();
  }

 private:
  const LayoutRequest& request_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::vector<model::StageSpan> spans_;
};

int find_row(const model::ParameterTable& table, const std::string& name) {
  const auto& rows = table.rows();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? -1 : static_cast<int>(found - rows.begin());
}

/// What of `wanted` is in the local elements [begin, end) of a row.
void collect(const kernels::ShardLayout& layout, std::int64_t begin, std::int64_t end, ElementRange wanted,
             std::vector<ElementRange>& found) {
  layout.for_each_run(begin, end, [&](const kernels::ShardLayout::Run& run) {
    const ElementRange part = {std::max(run.logical_begin, wanted.begin),
                               std::min(run.logical_begin + run.count, wanted.end)};
    if (part.begin < part.end) found.push_back(part);
  });
}

void join(std::vector<ElementRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<ElementRange> joined;
  for (const ElementRange& range : ranges) {
    if (!joined.empty() && joined.back().end >= range.begin)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  ranges = std::move(joined);
}

/// Those of one tensor coordinate of a stage, whose data ranks share the state of a row.
void add_data_ranks(const model::ParameterTable& table, int row, const LayoutRequest& request,
                    const ProcessGrid& grid, GridCoordinates at, ElementRange wanted,
                    std::vector<ElementHolder>& holders) {
  const model::ParameterRow& parameter = table.row(row);
  std::vector<ElementRange> weights;
  collect(parameter.layout, 0, parameter.size(), wanted, weights);
  join(weights);
  if (weights.empty()) return;
  const ShardMap shards = TrainingState::plan_shards(table, request.model.compute_dtype, request.grid.data);
  for (at.data = 0; at.data < request.grid.data; ++at.data) {
    ElementHolder holder{.rank = grid.rank_of(at),
                         .at = at,
                         .weights = weights,
                         .state = {},
                         .writes = !parameter.counted_elsewhere};
    for (const OwnedRange& owned : shards.owned_ranges(row, at.data))
      collect(parameter.layout, owned.row_begin, owned.row_begin + owned.count, wanted, holder.state);
    join(holder.state);
    holders.push_back(std::move(holder));
  }
}

}  // namespace

std::vector<ElementHolder> find_holders(const LayoutRequest& request, const ProcessGrid& grid,
                                        const std::string& parameter, ElementRange elements) {
  const PaperStages stages(request);
  std::vector<ElementHolder> holders;
  for (int stage = 0; stage < request.grid.pipeline; ++stage) {
    for (int tensor = 0; tensor < request.grid.tensor; ++tensor) {
      const model::ParameterTable table = stages.table(stage, tensor);
      const int row = find_row(table, parameter);
      if (row < 0) break;
      add_data_ranks(table, row, request, grid, {.tensor = tensor, .pipeline = stage, .data = 0}, elements,
                     holders);
    }
  }
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return holders;
}

}  // namespace tenax::parallel
