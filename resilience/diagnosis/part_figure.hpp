// figure_of(): what a rank or link takes, from the reports of all ranks.
#pragma once

#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/part_comparison.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// A rank's figure is its computing; where others took its processor, all that waiting if that is
/// more. A pipeline link's is its delay, any other link's the transfer time
/// of its group (transfer_figures.hpp). A rank of which nothing healthy is known, after it has moved,
/// is compared with the others of its stage. `reports`: by world rank. `iteration_s`: of one before
/// anything was slow, for the floor. Pure.
PartFigure figure_of(const Component& component, const std::vector<RankReport>& reports,
                     const parallel::ProcessGrid& grid, double iteration_s = 0);

/// What three quarters of all ranks compute slower by than while they were healthy; at least 1. Pure.
double shared_growth_of_ranks(const std::vector<RankReport>& reports);

}  // namespace tenax::resilience
