#include "resilience/adaptation/schedule_scorer.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

bool differ(double a, double b, double share, double least) {
  return std::abs(a - b) > std::max(least, share * std::max(a, b));
}

}  // namespace

double predict_s(const parallel::PipelineSchedule& schedule, const parallel::PipelineCosts& costs,
                 const parallel::TransferModel& direct, const std::vector<char>& delegated) {
  parallel::TransferModel transfers = direct;
  transfers.delegated = delegated;
  try {
    return parallel::simulate(schedule, costs, transfers).makespan_s;
  } catch (const kernels::Error&) {
    return std::numeric_limits<double>::infinity();
  }
}

ScheduleScorer::ScheduleScorer(std::vector<parallel::PipelineCosts> scenarios, parallel::TransferModel direct,
                               std::vector<char> delegated)
    : scenarios_(std::move(scenarios)), direct_(std::move(direct)), delegated_(std::move(delegated)) {
  assert(!scenarios_.empty());
}

double ScheduleScorer::mean_s(const parallel::PipelineSchedule& schedule) const {
  double sum_s = 0;
  for (const parallel::PipelineCosts& costs : scenarios_)
    sum_s += predict_s(schedule, costs, direct_, delegated_);
  return sum_s / static_cast<double>(scenarios_.size());
}

bool differ_materially(const parallel::PipelineCosts& a, const parallel::PipelineCosts& b, double pass_share,
                       double delay_share, const std::vector<double>& material_s_of_link) {
  assert(a.stage_count() == b.stage_count());
  for (std::size_t stage = 0; stage < a.stages.size(); ++stage)
    for (const parallel::Pass pass :
         {parallel::Pass::forward, parallel::Pass::backward_input, parallel::Pass::backward_weight})
      if (differ(a.stages[stage].of(pass), b.stages[stage].of(pass), pass_share, 0)) return true;
  for (int link = 0; link + 1 < a.stage_count(); ++link)
    if (differ(a.delay_s(link), b.delay_s(link), delay_share,
               material_s_of_link[static_cast<std::size_t>(link)]))
      return true;
  return false;
}

}  // namespace tenax::resilience
