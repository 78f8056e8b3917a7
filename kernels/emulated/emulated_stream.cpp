#include "kernels/emulated/emulated_stream.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

void wait_until(double time_s, Deadline deadline, const char* what) {
  const double limit_s = std::chrono::duration<double>(deadline.when().time_since_epoch()).count();
  sleep_until_s(std::min(time_s, limit_s));
  if (steady_now_s() < time_s)
    throw Error(Scope::rank, std::string("emulated device: gave up waiting for ") + what + ", which has " +
                                 std::to_string(time_s - steady_now_s()) +
                                 " s of work left; raise comm.deadline_s");
}

}  // namespace

bool EmulatedEvent::done() const { return steady_now_s() >= time_s(); }

void EmulatedEvent::wait(Deadline deadline) const { wait_until(time_s(), deadline, "an event"); }

EmulatedStream::EmulatedStream(CounterRandom jitter) : ready_s_(steady_now_s()), jitter_(jitter) {}

void EmulatedStream::record(Event& event) {
  assert(dynamic_cast<EmulatedEvent*>(&event) && "an event belongs to the device of its stream");
  static_cast<EmulatedEvent&>(event).record_at(ready_s_);
}

void EmulatedStream::input_arrived(double time_s) {
  ready_s_ = std::max(ready_s_, time_s);
  told_of_input_ = true;
}

void EmulatedStream::synchronize(Deadline deadline) { wait_until(ready_s_, deadline, "a stream"); }

double EmulatedStream::enqueue(double seconds) {
  told_of_input_ = false;
  return ready_s_ += seconds;
}

double EmulatedStream::enqueue_in_answer(double seconds) {
  if (!told_of_input_) ready_s_ = std::max(ready_s_, steady_now_s());
  return enqueue(seconds);
}

}  // namespace tenax::kernels
