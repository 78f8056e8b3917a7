// An onset is told to all ranks with the next vote, their reports come after the one that follows it. Two reports in a
// row must agree, since a figure near a limit may be on either side of it. What is found is followed: reports come on
// after every vote.
#include "resilience/diagnosis/inquiry.hpp"

#include <algorithm>

#include "resilience/diagnosis/suspects.hpp"

namespace tenax::resilience {
namespace {

constexpr std::size_t kMostIterations = 160;
/// A profile that never settles is taken as it is after so many reports.
constexpr int kMostProfiles = 8;
/// What has not paid for a validation after so many reports is told without one.
constexpr int kPatience = 640;
/// While all is well, ranks keep what is healthy after each so many iterations.
constexpr std::int64_t kKeptEvery = 16;
/// So many iterations tell what a level is.
constexpr std::ptrdiff_t kLevel = 16;
/// What is followed is a median of so many iterations.
constexpr std::int64_t kFollowed = 8;

bool are_same(const Suspects& a, const Suspects& b) {
  return std::equal(a.components.begin(), a.components.end(), b.components.begin(), b.components.end(),
                    [](const Component& x, const Component& y) {
                      return x.is_same_part(y) && x.cause == y.cause;
                    }) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const SuspectGroup& x, const SuspectGroup& y) {
                      return x.kind == y.kind && x.ranks == y.ranks;
                    }) &&
         a.is_common == b.is_common;
}

// Which link of a group it is nobody knows without a validation.
std::vector<Component> components_of(const Suspects& suspects) {
  std::vector<Component> components = suspects.components;
  for (const SuspectGroup& group : suspects.groups)
    for (Component& link : links_round(group)) components.push_back(std::move(link));
  return components;
}

}  // namespace

void Inquiry::add(std::int64_t iteration, double begin_s, double seconds, const std::optional<Change>& change,
                  bool is_healthy, bool is_masked) {
  if (iterations_.size() == kMostIterations) iterations_.pop_front();
  iterations_.push_back({iteration, begin_s, seconds, is_masked});
  if (onset_) lost_s_ += loss_of(iterations_.back());
  if (!onset_ && open_.is_empty()) keep_at_times(iteration, is_healthy);
  if (!change) return;
  if (change->is_onset()) return begin(*change);
  healthy_from_ = std::max(healthy_from_, change->iteration);
  if (onset_ && change->after_s < kHealed * onset_->before_s) call_off(begin_s + seconds);
  if (change->after_s < kHealed * healthy_s_ && open_.is_empty()) healthy_s_ = 0;
}

void Inquiry::keep_at_times(std::int64_t iteration, bool is_healthy) {
  must_keep_healthy_ = false;
  const bool is_time = is_level_new_ ? is_level_known() : is_healthy && iteration % kKeptEvery == 0;
  if (!is_time) return;
  keep_healthy(iteration + 1);
  knew_healthy_ = true;
  is_level_new_ = false;
}

bool Inquiry::is_level_known() const {
  return std::ranges::count_if(iterations_, [&](const Iteration& each) {
           return each.number >= healthy_from_ && !each.is_masked;
         }) >= kLevel;
}

void Inquiry::keep_healthy(std::int64_t before) {
  healthy_before_ = before;
  must_keep_healthy_ = true;
}

// Before a drift is told it has long been there: healthy is what was kept before it.
void Inquiry::begin(const Change& onset) {
  if (healthy_s_ == 0) {
    healthy_s_ = onset.before_s;
    must_keep_healthy_ = false;
    if (!onset.is_drift || !knew_healthy_) keep_healthy(onset.iteration);
  }
  onset_ = onset;
  is_level_new_ = false;
  lost_s_ = 0;
  for (const Iteration& iteration : iterations_)
    if (iteration.number >= onset.iteration) lost_s_ += loss_of(iteration);
  onset_begin_s_.reset();
  for (const Iteration& iteration : iterations_)
    if (iteration.number == onset.iteration) onset_begin_s_ = iteration.begin_s;
  is_second_look_ = false;
  suspects_ = {};
  is_settled_ = false;
  profiles_ = 0;
}

void Inquiry::look_again(std::int64_t since) {
  if (onset_ || open_.is_empty()) return;
  begin({.iteration = since, .detected_at = iterations_.back().number, .before_s = healthy_s_});
  is_second_look_ = true;
}

// It has healed before anybody knew what it was.
void Inquiry::call_off(double now_s) { conclude_onset(onset_->iteration, {}, now_s); }

InquiryOrder Inquiry::order() const {
  InquiryOrder order{.wants_reports = onset_ || !open_.is_empty()};
  if (must_keep_healthy_) {
    order.healthy_from = healthy_from_;
    order.healthy_before = healthy_before_;
  }
  if (!order.wants_reports) return order;
  order.since = onset_ ? onset_->iteration : iterations_.back().number - kFollowed + 1;
  order.validates = onset_ && is_settled_ && needs_validation() &&
                    (options_.validation == io::Validate::always || has_paid());
  order.probes = !order.validates && !open_.due(iterations_.back().number + 1).empty();
  return order;
}

bool Inquiry::needs_validation() const {
  if (options_.validation == io::Validate::never) return false;
  if (options_.validation == io::Validate::always) return true;
  return suspects_.count() > 1 && profiles_ < kPatience;
}

void Inquiry::set_grid(parallel::ProcessGrid grid) {
  grid_ = std::move(grid);
  reports_.clear();
  knew_healthy_ = is_level_new_ = false;
  suspects_ = {};
  is_settled_ = false;
  profiles_ = 0;
}

void Inquiry::take(std::int64_t iteration, const std::vector<RankReport>& reports, double now_s) {
  const bool is_being_validated = order().validates;
  must_keep_healthy_ = false;
  stages_.learn(reports, grid_);
  reports_ = reports;
  stages_.complete(reports_, grid_);
  if (onset_ && !is_being_validated) profile(iteration, now_s);
  tell_healed(iteration, open_.follow(iteration, reports_, grid_));
  for (Component& component : open_.ease(options_.suspect, reports_, grid_))
    events_.emplace_back(Eased{std::move(component)});
}

void Inquiry::profile(std::int64_t iteration, double now_s) {
  ++profiles_;
  if (profiles_ < kMostProfiles && std::any_of(reports_.begin(), reports_.end(), lacks_delays)) return;
  Suspects suspects =
      find_suspects(reports_, grid_, {.suspect = options_.suspect, .healthy_iteration_s = healthy_s_});
  const bool are_told = open_.leave_out(suspects, options_.suspect, reports_, grid_) && suspects.count() == 0;
  is_settled_ = profiles_ >= kMostProfiles || (profiles_ > 1 && are_same(suspects, suspects_));
  suspects_ = std::move(suspects);
  if (is_settled_ && are_told) return onset_.reset();
  if (!is_settled_ || needs_validation()) return;
  const bool is_nothing = suspects_.count() == 0 && !suspects_.is_common;
  if (is_nothing && profiles_ < kMostProfiles) return;  // it may show yet
  FailSlow found{.components = components_of(suspects_)};
  if (suspects_.is_common) found.cause = SlowCause::common;
  conclude_onset(iteration, std::move(found), now_s);
}

// Unless it was over, or another onset came, as the step ended.
void Inquiry::conclude(std::int64_t iteration, std::vector<Component> found, bool is_common, double now_s) {
  if (!onset_ || !is_settled_) return;
  FailSlow all{.components = std::move(found), .by_validation = true};
  if (all.components.empty() && is_common) all.cause = SlowCause::common;
  conclude_onset(iteration, std::move(all), now_s);
}

void Inquiry::explain(Component& component) const {
  if (component.is_link() || component.cause != SlowCause::compute) return;
  component.throttling = find_throttling(reports_[static_cast<std::size_t>(component.rank)]);
}

void Inquiry::conclude_onset(std::int64_t iteration, FailSlow found, double now_s) {
  if (!is_second_look_ || !found.components.empty()) tell(iteration, std::move(found), now_s);
  if (open_.is_empty()) accept_level();
  onset_.reset();
}

// No part is known to be slow: what iterations take since is healthy, and what comes next is compared with that. A
// drift is compared with its first iterations, as it may have begun long before it is told.
void Inquiry::accept_level() {
  healthy_s_ = 0;
  healthy_from_ = std::max(healthy_from_, onset_->iteration);
  knew_healthy_ = false;
  is_level_new_ = true;
}

void Inquiry::tell(std::int64_t iteration, FailSlow found, double now_s) {
  if (!found.components.empty()) found.cause = cause_of(found.components);
  found.onset = onset_->iteration;
  found.healthy_iteration_s = healthy_s_;
  found.lost_s = lost_s_;
  if (onset_begin_s_) found.reaction_s = now_s - *onset_begin_s_;
  for (Component& component : found.components) explain(component);
  for (const Component& component : found.components)
    open_.add(component, std::min(onset_->iteration, iteration), reports_, grid_, healthy_s_);
  events_.emplace_back(std::move(found));
}

void Inquiry::conclude_probes(std::int64_t iteration, const std::vector<PairResult>& results) {
  tell_healed(iteration, open_.take_probes(iteration, results));
}

void Inquiry::tell_healed(std::int64_t iteration, std::vector<Healed> healed) {
  if (healed.empty()) return;
  healthy_from_ = iteration;
  for (Healed& each : healed) events_.emplace_back(std::move(each));
  if (open_.is_empty() && !onset_) healthy_s_ = 0;
}

}  // namespace tenax::resilience
