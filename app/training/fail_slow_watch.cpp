#include "app/training/fail_slow_watch.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "io/json.hpp"
#include "kernels/deadline.hpp"
#include "resilience/diagnosis/rank_reports.hpp"
#include "resilience/diagnosis/throttling.hpp"
#include "resilience/diagnosis/transfer_figures.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using parallel::GroupKind;
using resilience::FailSlow;
using resilience::Healed;

namespace {

/// Of a pipeline that is only measured, while nothing is slow.
constexpr std::int64_t kDelaysEvery = 8;

/// Bytes a second over a link of the group that has fewest; 0 where no group moves any. Of what a
/// collective is over, each of n ranks sends the (n - 1)/n that are others'.
double slowest_link(GroupKind kind, const std::vector<resilience::RankReport>& reports,
                    const parallel::ProcessGrid& grid) {
  double slowest = 0;
  for (const resilience::TransferFigure& group : resilience::group_figures(kind, reports, grid)) {
    const auto ranks = static_cast<double>(group.ranks.size());
    if (group.seconds.work <= 0 || group.seconds.now_s <= 0) continue;
    const double rate = group.seconds.work * (ranks - 1) / ranks / group.seconds.now_s;
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
  }
  return slowest;
}

// So that a rank with more or fewer microbatches is neither slower nor faster than it was.
resilience::RankFigures per_even_share(resilience::RankFigures figures, double load) {
  using resilience::RankFigures;
  for (double RankFigures::*figure : {&RankFigures::compute_s, &RankFigures::tensor_s,
                                      &RankFigures::tensor_bytes, &RankFigures::preempted_s})
    figures.*figure /= load;
  return figures;
}

std::vector<RankPlace> places_of(comm::ControlGroup& control, const RankPlace& mine) {
  std::vector<RankPlace> places;
  for (const std::string& text : control.all_gather(mine.host + "\n" + mine.device)) {
    const std::size_t end = text.find('\n');
    places.push_back({.host = text.substr(0, end), .device = text.substr(end + 1)});
  }
  return places;
}

}  // namespace

FailSlowWatch::FailSlowWatch(const Parts& parts)
    : parts_(parts),
      figures_([this] { return preempted_s(); }),
      unused_links_({.deck = parts.deck,
                     .replica = parts.replica,
                     .context = parts.context,
                     .preempted_s = [this] { return preempted_s(); }}),
      iterations_(parts.deck.detect, parts.write,
                  {.console = parts.console, .is_crowded = !parts.judges_times}) {
  if (!is_enabled()) return;
  std::vector<RankPlace> places = places_of(parts_.replica.control(), parts_.place);
  if (parts_.replica.control().rank() != 0) return;
  text_.emplace(parts_.replica.grid(), std::move(places));
  inquiry_.emplace(
      parts_.replica.grid(),
      resilience::Inquiry::Options{
          .suspect = parts_.deck.detect.suspect,
          .validation = parts_.deck.detect.validate,
          .validation_s =
              [this](const resilience::Suspects& suspects) {
                return resilience::expected_seconds(validation_request(suspects), validation_parts());
              },
          .is_used = [this](const resilience::Component& link) { return unused_links_.is_used(link); }});
}

// Where the device is another one, who has this processor does not slow it down; where ranks share cores, they keep each other from
// them while they wait.
double FailSlowWatch::preempted_s() {
  const bool counts = parts_.device.kind() == kernels::DeviceKind::cpu && parts_.judges_times;
  return counts ? preemption_.take(steady_now_s()) : 0.0;
}

resilience::ValidationParts FailSlowWatch::validation_parts() {
  return {.control = parts_.replica.control(),
          .grid = parts_.replica.grid(),
          .device = parts_.device,
          .probe = *parts_.probe,
          .group = [this](GroupKind kind) { return parts_.replica.group(kind); },
          .preempted_s = [this] { return preempted_s(); },
          .deadline_s = parts_.deck.comm.deadline_s};
}

resilience::ValidationRequest FailSlowWatch::validation_request(const resilience::Suspects& suspects) const {
  const io::DetectSection& section = parts_.deck.detect;
  resilience::ValidationRequest request{.suspects = suspects,
                                        .suspect = section.suspect,
                                        .seconds = section.probe_seconds,
                                        .probe_mb = section.probe_mb};
  request.tensor_bytes_per_s = slowest_link(GroupKind::tensor, inquiry_->reports(), parts_.replica.grid());
  request.data_bytes_per_s = slowest_link(GroupKind::data, inquiry_->reports(), parts_.replica.grid());
  return request;
}

bool FailSlowWatch::wants_delays(std::int64_t step) const {
  return order_.wants_reports || step % kDelaysEvery == 0;
}

void FailSlowWatch::agree(std::int64_t step, const StepVote& vote) {
  const double begin_s = steady_now_s();
  std::vector<resilience::RankReport> reports;
  if (order_.wants_reports)
    reports = resilience::gather_reports(parts_.replica.control(), history_.report(order_.since));
  order_ = vote.order;
  steps_asked_ = order_.wants_reports ? steps_asked_ + 1 : 0;
  if (order_.healthy_before > 0) history_.was_healthy(order_.healthy_from, order_.healthy_before);
  if (inquiry_ && !reports.empty()) inquiry_->take(step, reports, begin_s);
  seconds_ += steady_now_s() - begin_s;
}

void FailSlowWatch::finish(const io::TrainingMetrics& metrics, const Step& step) {
  if (!is_enabled()) return;
  const double begin_s = steady_now_s();
  remember(metrics, step);
  if (inquiry_) {
    const auto change = iterations_.add(metrics, step.own_action);
    inquiry_->add(metrics.step, step.begin_s, *metrics.iteration_seconds, change, iterations_.is_healthy(),
                  metrics.is_masked);
    record(metrics.step);
  }
  seconds_ += steady_now_s() - begin_s;
}

void FailSlowWatch::remember(const io::TrainingMetrics& metrics, const Step& step) {
  const std::optional<kernels::DeviceReading> reading = parts_.observation.take_reading();
  if (!parts_.observation.is_observed()) return figures_.clear();
  resilience::RankFigures figures = per_even_share(figures_.take(), step.load);
  figures.activations_s = step.delays.activations_s;
  figures.gradients_s = step.delays.gradients_s;
  figures.activations_at_most = step.delays.activations_at_most ? 1 : 0;
  figures.gradients_at_most = step.delays.gradients_at_most ? 1 : 0;
  if (reading) resilience::add_reading(figures, *reading);
  history_.add(metrics.step, figures, metrics.is_masked);
}

void FailSlowWatch::probe(std::int64_t step) {
  resilience::PairTestRequest request;
  if (inquiry_)
    request = unused_links_.request(inquiry_->to_probe(step), inquiry_->slow(), validation_request({}));
  const std::vector<resilience::PairResult> results = unused_links_.test(request, step);
  if (!inquiry_) return;
  inquiry_->conclude_probes(step, results);
  record(step);
}

void FailSlowWatch::validate(std::int64_t step) {
  if (std::exchange(order_.probes, false)) probe(step);
  if (!std::exchange(order_.validates, false)) return;
  const resilience::ValidationResult result = resilience::validate(
      inquiry_ ? validation_request(inquiry_->suspects()) : resilience::ValidationRequest{},
      validation_parts());
  if (!inquiry_) return;
  const char* const reason = parts_.deck.detect.validate == io::Validate::always ? "always" : "suspects";
  parts_.write(step, "validation",
               io::JsonObject{}
                   .add("seconds", result.seconds)
                   .add("tested", result.tested)
                   .add("found", static_cast<std::int64_t>(result.components.size()))
                   .add("reason", reason));
  inquiry_->conclude(step, result.components, result.is_common, steady_now_s());
  record(step);
}

// Who is in the same stage as before computes and sends as much as before.
void FailSlowWatch::follow_swap(int old_stage) {
  if (!is_enabled()) return;
  if (parts_.replica.coordinates().pipeline == old_stage)
    history_.forget();
  else
    history_.forget_work();
  figures_.clear();
  unused_links_.set_rings({});
  if (inquiry_) inquiry_->set_grid(parts_.replica.grid());
}

template <class Event>
void FailSlowWatch::record(std::int64_t step, const char* name, const Event& event) {
  parts_.write(step, name, text_->details(event));
  if (parts_.judges_times) parts_.console.say(text_->line(step, event));
}

void FailSlowWatch::record(std::int64_t step) {
  for (const resilience::InquiryEvent& event : inquiry_->take_events()) {
    if (const auto* const found = std::get_if<FailSlow>(&event)) record(step, "fail_slow", *found);
    if (const auto* const healed = std::get_if<Healed>(&event)) record(step, "healed", *healed);
    if (parts_.told) parts_.told(event, inquiry_->reports());
  }
}

}  // namespace tenax::app
