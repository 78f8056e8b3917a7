#include "resilience/recorder/recorded_steps.hpp"

#include <string>

namespace tenax::resilience {
namespace {

int between_replicas(Recorder& recorder, const char* what) {
  const int rank = recorder.seat().rank;
  return recorder.add_channel(std::string(what) + "@" + std::to_string(rank), ChannelKind::exchange,
                              recorder.seat().replica, 0);
}

}  // namespace

RecordedSteps::RecordedSteps(StepPoints& inner, Recorder& recorder)
    : inner_(inner),
      recorder_(recorder),
      exchange_(between_replicas(recorder, "exchange")),
      vote_(between_replicas(recorder, "vote")) {}

// What is injected there comes when it is recorded.
void RecordedSteps::reach(StepPoint point, std::int64_t step) {
  if (point == StepPoint::passes) enter(Recorder::Phase::passes, step);
  if (point == StepPoint::exchange) enter(Recorder::Phase::exchange, step);
  if (point == StepPoint::vote) enter(Recorder::Phase::vote, step);
  if (point == StepPoint::update || point == StepPoint::commit || point == StepPoint::join ||
      point == StepPoint::saving)
    enter(Recorder::Phase::between, step);
  inner_.reach(point, step);
}

void RecordedSteps::enter(Recorder::Phase phase, std::int64_t step) {
  if (open_) recorder_.end(*open_);
  open_.reset();
  recorder_.reach(phase, step);
  const bool waits = phase == Recorder::Phase::exchange || phase == Recorder::Phase::vote;
  if (!waits) return;
  const bool is_vote = phase == Recorder::Phase::vote;
  open_ = recorder_.begin(is_vote ? OperationKind::vote : OperationKind::exchange,
                          is_vote ? vote_ : exchange_, 0, {}, step);
  recorder_.stand(*open_, true);
}

}  // namespace tenax::resilience
