#include "app/training/mitigator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>
#include <variant>

#include "app/options.hpp"
#include "app/training/mitigation_text.hpp"
#include "app/training/start_elsewhere.hpp"
#include "kernels/deadline.hpp"
#include "kernels/new_thread.hpp"
#include "resilience/mitigation/topology_swap.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using resilience::RunPlacement;
using resilience::Strategy;

namespace {

/// Nothing costs less: to tell all ranks of it takes some of that.
constexpr double kLeastCost = 1e-3;
/// Share of an iteration that training waits for a new evaluation, which a whole slow iteration later
/// would serve less.
constexpr double kPatience = 0.05;

// Where ranks share cores, a rank's figures tell of its host, which no other rank of the host leaves.
resilience::FailSlow without_own_devices(resilience::FailSlow found) {
  for (resilience::Component& component : found.components)
    if (!component.is_link()) component.cause = resilience::SlowCause::cpu_contention;
  return found;
}

bool has_rings(parallel::Replica& replica) {
  comm::Communicator* const data_group = replica.group(parallel::GroupKind::data);
  return data_group && !data_group->ring_order().empty();
}

}  // namespace

Mitigator::Mitigator(const Parts& parts)
    : parts_(parts),
      placement_(RunPlacement::at_launch(parts.replica.layout().grid,
                                         parts.replica.layout().schedule.microbatches())) {
  if (!parts_.is_enabled) return;
  comm::ControlGroup& control = parts_.replica.control();
  control.agree([&] {
    if (control.rank() == 0) begin();
  });
}

void Mitigator::begin() {
  const io::MitigateSection& section = parts_.deck.mitigate;
  possibilities_ = {
      .allowed = allowed_strategies(section),
      .shape = parts_.replica.layout().grid,
      .microbatches = parts_.replica.layout().schedule.microbatches(),
      .most_microbatches = parts_.replica.layout().most_microbatches,
      .rings = has_rings(parts_.replica),
      .swap_fits = static_cast<bool>(parts_.regrid),
      .spare_hosts = spare_hosts(std::getenv, parts_.watch.text()->hosts(), parts_.deck.run.output_dir),
      .host_of_rank = parts_.watch.text()->hosts()};
  if (section.restart == io::RestartElsewhere::exit && possibilities_.spare_hosts == 0)
    parts_.console.warn(
        "mitigate.restart = \"exit\" does nothing here, where no other host can be had: it ends a run in a "
        "Slurm allocation that leaves a node over, or where TENAX_REQUEUE=1 says that something starts the "
        "run again");
  mitigation_.emplace(placement_,
                      resilience::Mitigation::Options{.shape = possibilities_.shape,
                                                      .min_gain = section.min_gain,
                                                      .heal_steps = static_cast<int>(section.heal_steps)});
  estimate_costs(0);
}

void Mitigator::estimate_costs(double evaluation_s) {
  resilience::ActionCosts& costs = mitigation_->costs();
  for (const Strategy strategy : {Strategy::microbatches, Strategy::ring})
    costs.estimate(strategy, std::max(kLeastCost, evaluation_s));
  costs.estimate(Strategy::swap, std::max(kLeastCost, swap_s()));
  costs.estimate(Strategy::restart, std::max(kLeastCost, restart_s()));
}

// A rank's master weights and moments at the rate of the data groups' collectives.
double Mitigator::swap_s() const {
  constexpr double kStateBytes = 12, kUnknownRate = 1e9;
  const parallel::Layout& layout = parts_.replica.layout();
  double bytes = static_cast<double>(parts_.deck.device.state_bytes);
  if (layout.has_data)
    for (const std::int64_t parameters : layout.parameters_of_stage)
      bytes = std::max(bytes, kStateBytes * static_cast<double>(parameters) / layout.grid.data);
  double rate = kUnknownRate;
  for (const resilience::RankReport& report : reports_)
    if (report.healthy.data_s > 0) rate = std::min(rate, report.healthy.data_bytes / report.healthy.data_s);
  return bytes / rate;
}

// As long as the last start, and a checkpoint.
double Mitigator::restart_s() const {
  const double said_s = parts_.deck.mitigate.restart_cost_s;
  return said_s > 0 ? said_s : start_s_ + parts_.checkpoint_s();
}

// The run ends with the next step.
void Mitigator::restart(std::int64_t step) {
  std::vector<resilience::Component> slow;
  for (const resilience::SlowPart& part : mitigation_->slow()) slow.push_back(part.component);
  mitigation_->applied(step + 1, 0);
  parts_.restart_without(hosts_of(slow, possibilities_));
}

void Mitigator::take(const resilience::InquiryEvent& event,
                     const std::vector<resilience::RankReport>& reports) {
  if (!mitigation_) return;
  const auto* const found = std::get_if<resilience::FailSlow>(&event);
  if (found && found->components.empty()) return;
  is_outdated_ = evaluation_.valid();
  if (const auto* const healed = std::get_if<resilience::Healed>(&event)) return mitigation_->take(*healed);
  const parallel::ProcessGrid& grid = parts_.replica.grid();
  if (found)
    mitigation_->take(parts_.judges_times ? *found : without_own_devices(*found), reports, grid);
  else
    mitigation_->take(std::get<resilience::Eased>(event), reports, grid);
  reports_ = reports;
  reported_places_ = placement_.group_of_place;
}

void Mitigator::finish(const io::TrainingMetrics& metrics) {
  if (!mitigation_) return;
  if (start_s_ == 0) start_s_ = steady_now_s() - parts_.started_s;
  mitigation_->add(metrics.step, *metrics.iteration_seconds, metrics.is_masked);
  record(false);
  if (!decided_ && mitigation_->wants_proposals() && !evaluation_.valid()) evaluate();
  receive(kPatience * mitigation_->healthy_iteration_s());
  if (const auto since = mitigation_->take_doubt()) parts_.watch.look_again(*since);
  if (!decided_) {
    decided_ = mitigation_->decide(parts_.watch.is_inquiring());
    if (decided_) grid_before_ = parts_.replica.grid();
    if (decided_ && decided_->strategy == Strategy::restart) restart(metrics.step);
  }
}

resilience::RunPicture Mitigator::picture() const {
  const resilience::AdaptationSettings settings = adaptation_settings(parts_.deck);
  resilience::RunPicture picture{.layout = &parts_.replica.layout(),
                                 .reports = reports_,
                                 .reported_places = reported_places_,
                                 .slow = mitigation_->slow(),
                                 .healthy_iteration_s = mitigation_->healthy_iteration_s(),
                                 .transfers = {},
                                 .has_rings = possibilities_.rings,
                                 .placement = mitigation_->placement()};
  if (settings.paths == parallel::PathChoice::direct_only) picture.transfers = settings.direct;
  return picture;
}

// Where there is no thread for it, training goes on as it is, and the next step tries again.
void Mitigator::evaluate() {
  const auto work = [picture = picture(), run = possibilities_] {
    const double begin_s = steady_now_s();
    Evaluation evaluation;
    try {
      resilience::IterationForecast forecast(picture);
      evaluation.proposals = resilience::propose(forecast, run);
    } catch (const std::exception& error) {  // nothing is done then, and training goes on
      evaluation.failure = error.what();
    }
    evaluation.seconds = steady_now_s() - begin_s;
    return evaluation;
  };
  try {
    evaluation_ = kernels::new_async(work);
  } catch (const kernels::Error&) {
    return;
  }
  mitigation_->await_proposals();
  is_outdated_ = false;
  is_new_ = true;
}

void Mitigator::receive(double patience_s) {
  if (!evaluation_.valid()) return;
  const std::chrono::duration<double> patience(std::exchange(is_new_, false) ? patience_s : 0.0);
  if (evaluation_.wait_for(patience) != std::future_status::ready) return;
  Evaluation evaluation = evaluation_.get();
  if (!evaluation.failure.empty())
    parts_.console.warn("what would help against slow parts cannot be told: " + evaluation.failure);
  if (std::exchange(is_outdated_, false)) return;
  estimate_costs(evaluation.seconds);
  mitigation_->propose(std::move(evaluation.proposals));
}

bool Mitigator::acts(bool must_wait) {
  if (decided_ && decided_->strategy == Strategy::swap && must_wait) {
    mitigation_->withdraw();
    decided_.reset();
  }
  return decided_ && decided_->strategy != Strategy::restart;
}

void Mitigator::act(std::int64_t step) {
  comm::ControlGroup& control = parts_.replica.control();
  const resilience::Action action = resilience::action_of_text(
      control.broadcast(decided_ ? resilience::to_text(*decided_) : std::string(), 0));
  control.all_gather({});  // who is early waits for the end of others' steps, which no action costs
  const double begin_s = steady_now_s();
  const GridSwap::Outcome outcome = apply(action.placement);
  std::array<double, 2> most = {steady_now_s() - begin_s - outcome.waited_s,
                                static_cast<double>(outcome.bytes)};
  control.all_reduce_max(most);
  change_ = resilience::ExpectedLevel::unknown;
  if (!mitigation_) return;
  decided_.reset();
  if (outcome.refusal.empty()) {
    is_outdated_ = evaluation_.valid();
    mitigation_->applied(step + 1, most[0], static_cast<std::int64_t>(most[1]),
                         parts_.replica.grid().generation(), placement_);
    if (mitigation_->is_restored()) change_ = resilience::ExpectedLevel::healthy;
    return;
  }
  parts_.console.warn(outcome.refusal);
  mitigation_->failed(most[0]);
}

// In new places rings are in the order of data ranks, and pipelines have even shares. What is refused has changed nothing; where
// ranks have changed their places, the order of rings that cannot be had beside is left out.
GridSwap::Outcome Mitigator::apply(const RunPlacement& placement) {
  GridSwap::Outcome outcome;
  const auto before = placement_.group_of_place;
  RunPlacement now = placement_;
  if (placement.group_of_place != now.group_of_place) {
    outcome = parts_.regrid(
        resilience::rank_of_position(placement.group_of_place, parts_.replica.layout().grid.tensor));
    if (!outcome.refusal.empty()) {
      outcome.refusal = "ranks keep their places: " + outcome.refusal;
      return outcome;
    }
    now.group_of_place = placement.group_of_place;
    now.ring_order.clear();
    now.microbatches = {};
  }
  placement_ = now;
  if (placement.ring_order != now.ring_order) {
    outcome.refusal = order_rings(placement);
    if (outcome.refusal.empty()) {
      now.ring_order = placement.ring_order;
    } else {
      if (placement.group_of_place == before) return outcome;
      parts_.console.warn(std::exchange(outcome.refusal, {}));
    }
  }
  if (placement.microbatches != now.microbatches) share(placement.microbatches);
  now.microbatches = placement.microbatches;
  placement_ = now;
  parts_.watch.follow_rings(rings());
  return outcome;
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

// Groups that have an order of their own now, or had one. What is slow may keep ranks from connecting, and a device may have no room
// for a second ring: the old ones are well.
std::string Mitigator::order_rings(const RunPlacement& placement) {
  const parallel::ProcessGrid& grid = parts_.replica.grid();
  const parallel::GridShape& shape = grid.shape();
  std::vector<std::vector<int>> orders(static_cast<std::size_t>(shape.tensor * shape.pipeline));
  for (int stage = 0; stage < shape.pipeline; ++stage)
    for (int tensor = 0; tensor < shape.tensor; ++tensor) {
      const resilience::DataGroup group{.tensor = tensor, .stage = stage};
      std::vector<int> order = ring_of(placement, group);
      if (order == ring_of(placement_, group)) continue;
      const int first = grid.rank_of({.tensor = tensor, .pipeline = stage, .data = 0});
      orders[static_cast<std::size_t>(grid.split(parallel::GroupKind::data, first).color)] = std::move(order);
    }
  try {
    parts_.replica.order_rings(orders);
    return {};
  } catch (const comm::AgreedError& error) {
    return std::string("rings keep their order: ") + error.what();
  }
}

std::vector<std::vector<int>> Mitigator::rings() const {
  const parallel::ProcessGrid& grid = parts_.replica.grid();
  std::vector<std::vector<int>> rings;
  for (const auto& [group, order] : placement_.ring_order) {
    std::vector<int> ring;
    for (const int data : order)
      ring.push_back(grid.rank_of({.tensor = group.tensor, .pipeline = group.stage, .data = data}));
    rings.push_back(std::move(ring));
  }
  return rings;
}

void Mitigator::record(bool all) {
  if (!mitigation_) return;
  for (const resilience::MitigationRecord& record : mitigation_->take_records(all)) {
    const FailSlowText& text = *parts_.watch.text();
    const parallel::ProcessGrid& of_fault = record.is_revert ? parts_.replica.grid() : *grid_before_;
    parts_.write(record.step, record.is_revert ? "revert" : "mitigate",
                 mitigation_details(record, text, of_fault));
    if (parts_.judges_times) parts_.console.say(mitigation_line(record, text));
  }
}

}  // namespace tenax::app
