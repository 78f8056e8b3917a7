#include "resilience/diagnosis/preemption.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {

Preemption::Preemption(double now_s, PreemptionSources sources)
    : waits_(std::move(sources.tasks)),
      stolen_(sources.processors, std::move(sources.allowed), now_s),
      taken_at_s_(now_s) {}

double Preemption::take(double now_s) {
  const double seconds = std::min(waits_.take() + stolen_.take(now_s), now_s - taken_at_s_);
  taken_at_s_ = now_s;
  return seconds;
}

}  // namespace tenax::resilience
