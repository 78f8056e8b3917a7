// StepObserver: who watches a whole training step, not its passes and messages alone.
#pragma once

#include <string>
#include <utility>

#include "comm/collective_observer.hpp"
#include "kernels/deadline.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

/// What a rank does beside passes, messages and collectives. Times are seconds of the host's steady clock.
struct PhaseRecord {
  enum class Where {
    stream,     ///< on the stream of the passes
    host,       ///< in the thread that trains
    background  ///< in another thread
  };
  Where where = Where::host;
  std::string name;  ///< "optimizer", "load data", …
  double begin_s = 0, end_s = 0;
};

/// Called by the thread that trains. On an asynchronous device a collective or phase may be told of a step later, when its
/// times are known.
class StepObserver : public ScheduleObserver, public comm::CollectiveObserver {
 public:
  virtual void on_phase(const PhaseRecord& record) = 0;
};

/// Tells of its own life as a phase of the host.
class HostPhase {
 public:
  HostPhase(StepObserver& observer, std::string name) : observer_(observer), name_(std::move(name)) {}
  ~HostPhase() { observer_.on_phase({PhaseRecord::Where::host, name_, begin_s_, kernels::steady_now_s()}); }
  HostPhase(const HostPhase&) = delete;
  HostPhase& operator=(const HostPhase&) = delete;

 private:
  StepObserver& observer_;
  std::string name_;
  const double begin_s_ = kernels::steady_now_s();
};

}  // namespace tenax::parallel
