#include "app/training/mitigator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "app/options.hpp"
#include "app/training/mitigation_text.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using resilience::RunPlacement;
using resilience::Strategy;

namespace {

/// Nothing costs less: to tell all ranks of it takes some of that.
constexpr double kLeastCost = 1e-3;

}  // namespace

Mitigator::Mitigator(const Parts& parts)
    : parts_(parts),
      placement_(RunPlacement::at_launch(parts.replica.layout().grid,
                                         parts.replica.layout().schedule.microbatches())) {
  if (!parts_.is_enabled || parts_.replica.control().rank() != 0) return;
  const io::MitigateSection& section = parts_.deck.mitigate;
  possibilities_ = {.allowed = allowed_strategies(section),
                    .shape = parts_.replica.layout().grid,
                    .microbatches = parts_.replica.layout().schedule.microbatches(),
                    .rings = false,
                    .swap_fits = false,
                    .can_start_elsewhere = false,
                    .host_of_rank = parts_.watch.text()->hosts()};
  mitigation_.emplace(placement_,
                      resilience::Mitigation::Options{.min_gain = section.min_gain,
                                                      .heal_steps = static_cast<int>(section.heal_steps)});
  estimate_costs(0);
}

void Mitigator::estimate_costs(double evaluation_s) {
  resilience::ActionCosts& costs = mitigation_->costs();
  for (const Strategy strategy : {Strategy::microbatches, Strategy::ring})
    costs.estimate(strategy, std::max(kLeastCost, evaluation_s));
  costs.estimate(Strategy::swap, std::max(kLeastCost, evaluation_s));
  costs.estimate(Strategy::restart, std::max(kLeastCost, parts_.deck.mitigate.restart_cost_s));
}

void Mitigator::take(const resilience::InquiryEvent& event,
                     const std::vector<resilience::RankReport>& reports) {
  if (!mitigation_) return;
  if (const auto* found = std::get_if<resilience::FailSlow>(&event))
    mitigation_->take(*found, reports, parts_.replica.grid());
  else
    mitigation_->take(std::get<resilience::Healed>(event));
  reports_ = reports;
  is_outdated_ = evaluation_.valid();
}

void Mitigator::finish(const io::TrainingMetrics& metrics) {
  if (!mitigation_) return;
  mitigation_->add(metrics.step, *metrics.iteration_seconds, metrics.is_masked);
  record(false);
  receive();
  if (mitigation_->wants_proposals() && !evaluation_.valid()) evaluate();
  if (!decided_) decided_ = mitigation_->decide();
}

resilience::RunPicture Mitigator::picture() const {
  const resilience::AdaptationSettings settings = adaptation_settings(parts_.deck);
  resilience::RunPicture picture{.layout = &parts_.replica.layout(),
                                 .reports = reports_,
                                 .slow = mitigation_->slow(),
                                 .healthy_iteration_s = mitigation_->healthy_iteration_s(),
                                 .transfers = {},
                                 .has_rings = possibilities_.rings,
                                 .placement = mitigation_->placement()};
  if (settings.paths == parallel::PathChoice::direct_only) picture.transfers = settings.direct;
  return picture;
}

void Mitigator::evaluate() {
  mitigation_->await_proposals();
  is_outdated_ = false;
  evaluation_ = std::async(std::launch::async, [picture = picture(), run = possibilities_] {
    const double begin_s = steady_now_s();
    resilience::IterationForecast forecast(picture);
    Evaluation evaluation{.proposals = resilience::propose(forecast, run)};
    evaluation.seconds = steady_now_s() - begin_s;
    return evaluation;
  });
}

void Mitigator::receive() {
  if (!evaluation_.valid() || evaluation_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return;
  Evaluation evaluation = evaluation_.get();
  if (std::exchange(is_outdated_, false)) return;
  estimate_costs(evaluation.seconds);
  mitigation_->propose(std::move(evaluation.proposals));
}

void Mitigator::act(std::int64_t step) {
  comm::ControlGroup& control = parts_.replica.control();
  const double begin_s = steady_now_s();
  const resilience::Action action = resilience::action_of_text(
      control.broadcast(decided_ ? resilience::to_text(*decided_) : std::string(), 0));
  apply(action.placement);
  double seconds = steady_now_s() - begin_s;
  control.all_reduce_max({&seconds, 1});
  has_changed_ = true;
  if (!mitigation_) return;
  decided_.reset();
  mitigation_->applied(step + 1, seconds, 0);
}

void Mitigator::apply(const RunPlacement& placement) {
  if (placement.microbatches != placement_.microbatches) share(placement.microbatches);
  placement_ = placement;
}

void Mitigator::share(const std::vector<int>& microbatches) {
  const bool is_even = std::adjacent_find(microbatches.begin(), microbatches.end(), std::not_equal_to<>()) ==
                       microbatches.end();
  parts_.batches.share(is_even ? std::vector<int>{} : microbatches);
  const int mine = microbatches[static_cast<std::size_t>(parts_.replica.coordinates().data)];
  if (parts_.adaptation)
    parts_.adaptation->set_microbatches(mine);
  else
    parts_.replica.pipeline().set_microbatches(mine);
}

void Mitigator::record(bool all) {
  if (!mitigation_) return;
  for (const resilience::MitigationRecord& record : mitigation_->take_records(all)) {
    const FailSlowText& text = *parts_.watch.text();
    parts_.write(record.step, record.is_revert ? "revert" : "mitigate",
                 mitigation_details(record, text, possibilities_.shape));
    if (parts_.judges_times) parts_.console.say(mitigation_line(record, text));
  }
}

}  // namespace tenax::app
