// TransferFigure: what the transfers of one group or link took, from the reports of its ranks.
#pragma once

#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/part_comparison.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

struct TransferFigure {
  parallel::GroupKind kind = parallel::GroupKind::data;
  std::vector<int> ranks;  ///< world ranks, in the group's order; of a link its two ends
  PartFigure seconds;      ///< without a floor
  /// How often an iteration has it, at the least.
  int times = 1;
};

/// Of all groups of two ranks or more; `kind` is tensor or data. A group's time is the least of its
/// ranks': who comes last does not wait. Groups with as many bytes are peers. `reports`: by world
/// rank.
std::vector<TransferFigure> group_figures(parallel::GroupKind kind, const std::vector<RankReport>& reports,
                                          const parallel::ProcessGrid& grid);

/// Of all links between neighbouring stages: the delay of a message in the slower direction. Where a
/// rank has noticed every message late, that counts for `most_s` alone; for what is healthy, and for
/// `most_s` where it noticed them late while all was well, too, only if the other direction says nothing.
/// All are peers. A pipeline has two microbatches at the least, each of which crosses in both directions:
/// `times` is 4.
std::vector<TransferFigure> pipeline_link_figures(const std::vector<RankReport>& reports,
                                                  const parallel::ProcessGrid& grid);

/// An excess of one of its transfers below this is noise. Passes of a group's ranks are not of equal
/// length. Who is last changes from one collective to the next, so that even the rank that waits least
/// waits a little, and more where passes are longer. `iteration_s`: of one before anything was slow.
double noise_of_transfer_s(const TransferFigure& transfer, const std::vector<RankReport>& reports,
                           double iteration_s);

}  // namespace tenax::resilience
