#include "app/training/step_vote.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tenax::app {
namespace {

/// The places of a ballot in the message that is summed over the ranks.
enum Field {
  loss,
  squares,
  signalled,
  time_is_up,
  restarts,
  failed,
  checkpoint_due,
  is_void,
  path_failed,
  events,
  no_sums,
  no_state,
  exchange_s,
  wants_reports,
  reports_since,
  healthy_from,
  healthy_before,
  validates,
  acts,
  probes,
  path_news,
  placed_squares,
  kFields = placed_squares + resilience::PlacedSum::kAddends
};

using Sums = std::vector<double>;

Sums to_sums(const StepBallot& ballot) {
  const auto count = [](bool yes) { return yes ? 1.0 : 0.0; };
  Sums sums(kFields, 0);
  sums[loss] = ballot.sums.loss;
  sums[squares] = ballot.sums.squares;
  sums[signalled] = count(ballot.signalled);
  sums[time_is_up] = count(ballot.time_is_up);
  sums[restarts] = count(ballot.restarts);
  sums[failed] = count(ballot.has_failed);
  sums[checkpoint_due] = count(ballot.checkpoint_is_due);
  sums[is_void] = count(ballot.is_void);
  sums[path_failed] = count(ballot.path_failed);
  sums[events] = count(ballot.has_adaptation_events);
  sums[no_sums] = count(ballot.lacks_sums);
  sums[no_state] = count(ballot.lacks_state);
  sums[exchange_s] = ballot.exchange_s;
  sums[wants_reports] = count(ballot.order.wants_reports);
  sums[reports_since] = static_cast<double>(ballot.order.since);
  sums[healthy_from] = static_cast<double>(ballot.order.healthy_from);
  sums[healthy_before] = static_cast<double>(ballot.order.healthy_before);
  sums[validates] = count(ballot.order.validates);
  sums[acts] = count(ballot.acts);
  sums[probes] = count(ballot.order.probes);
  sums[path_news] = count(ballot.has_path_news);
  std::ranges::copy(ballot.placed_squares.addends(), sums.begin() + placed_squares);
  return sums;
}

Verdict verdict_of(const Sums& sums) {
  if (sums[is_void] > 0) return Verdict::again;
  if (sums[failed] > 0) return Verdict::stop;
  const bool suspends = sums[signalled] > 0 || sums[time_is_up] > 0 || sums[restarts] > 0;
  return suspends ? Verdict::suspend : Verdict::go_on;
}

// One rank's, and sums of zeros beside it.
resilience::InquiryOrder order_of(const Sums& sums) {
  return {.wants_reports = sums[wants_reports] > 0,
          .since = static_cast<std::int64_t>(sums[reports_since]),
          .healthy_from = static_cast<std::int64_t>(sums[healthy_from]),
          .healthy_before = static_cast<std::int64_t>(sums[healthy_before]),
          .validates = sums[validates] > 0,
          .probes = sums[probes] > 0};
}

}  // namespace

StepVote count_votes(parallel::Replica& replica, const StepBallot& mine, double tokens, bool has_data) {
  Sums sums = to_sums(mine);
  replica.sum_over_ranks(sums);
  StepVote vote{.verdict = verdict_of(sums),
                .loss = sums[loss] / tokens,
                .grad_norm = std::sqrt(sums[squares]) / tokens,
                .squares = sums[squares],
                .signalled = sums[signalled] > 0,
                .time_is_up = sums[time_is_up] > 0,
                .restarts = sums[restarts] > 0,
                .checkpoint_is_due = sums[checkpoint_due] > 0,
                .path_failed = sums[path_failed] > 0,
                .has_adaptation_events = sums[events] > 0,
                .has_all_sums = sums[no_sums] == 0,
                .has_state = sums[no_state] == 0,
                .exchange_s = sums[exchange_s],
                .placed_squares = resilience::PlacedSum::of_addends(std::span(sums).subspan(placed_squares)),
                .order = order_of(sums),
                .acts = sums[acts] > 0,
                .has_path_news = sums[path_news] > 0};
  vote.finite = !has_data || (std::isfinite(vote.loss) && std::isfinite(vote.grad_norm));
  return vote;
}

}  // namespace tenax::app
