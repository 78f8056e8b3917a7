#include "app/launch/ending_step.hpp"

#include <csignal>
#include <utility>

#include "kernels/deadline.hpp"

namespace tenax::app {

namespace {

constexpr double kAgain_s = 3;
constexpr int kMost = 5;

}  // namespace

EndingStep::EndingStep(ReplicaProcess srun)
    : srun_(std::move(srun)), next_s_(kernels::steady_now_s() + kAgain_s) {}

bool EndingStep::has_ended() {
  if (srun_.end_status()) return true;
  const double now_s = kernels::steady_now_s();
  if (now_s < next_s_) return false;
  next_s_ = now_s + kAgain_s;
  if (interrupts_++ < kMost)
    srun_.send(SIGINT);
  else
    srun_.kill_session();
  return false;
}

}  // namespace tenax::app
