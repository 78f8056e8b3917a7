// StepObserver: watches a whole training step: passes, messages, collectives and phases. HostPhase
// and StreamPhase time what they report to it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/collective_observer.hpp"
#include "kernels/deadline.hpp"
#include "kernels/device.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

/// A stretch of work beside passes, messages and collectives. Times are seconds of the host's
/// steady clock.
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

/// Called by the thread that trains. On an asynchronous device a collective or phase may be told of
/// a step later, when its times are known.
class StepObserver : public ScheduleObserver, public comm::CollectiveObserver {
 public:
  virtual void on_phase(const PhaseRecord& record) = 0;
};

/// Tells every observer of passes and messages, and each StepObserver of the rest too. Observers
/// must outlive the list.
class StepObservers : public StepObserver {
 public:
  void add(ScheduleObserver& observer) { of_passes_.push_back(&observer); }
  void add(StepObserver& observer) {
    of_passes_.push_back(&observer);
    of_steps_.push_back(&observer);
  }

  void on_pass(const PassRecord& record) override {
    for (ScheduleObserver* observer : of_passes_) observer->on_pass(record);
  }
  void on_transfer(const TransferRecord& record) override {
    for (ScheduleObserver* observer : of_passes_) observer->on_transfer(record);
  }
  void on_collective(const comm::CollectiveRecord& record) override {
    for (StepObserver* observer : of_steps_) observer->on_collective(record);
  }
  void on_phase(const PhaseRecord& record) override {
    for (StepObserver* observer : of_steps_) observer->on_phase(record);
  }

 private:
  std::vector<ScheduleObserver*> of_passes_;
  std::vector<StepObserver*> of_steps_;
};

/// Reports its own lifetime as a phase of the host.
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

/// When a stretch of a stream's work ran, without waiting for it. A stretch that begins before the
/// last one was reported replaces it.
class StreamPhase {
 public:
  StreamPhase(kernels::Device& device, std::string name)
      : name_(std::move(name)), begin_(device.create_event()), end_(device.create_event()) {}

  void begin(kernels::Stream& stream) { stream.record(*begin_); }
  void end(kernels::Stream& stream) {
    stream.record(*end_);
    is_open_ = true;
  }
  /// Tells `observer`, which may be null, unless the stretch still runs or is reported already.
  void report(StepObserver* observer) {
    if (!is_open_ || !end_->done()) return;
    is_open_ = false;
    if (observer) observer->on_phase({PhaseRecord::Where::stream, name_, begin_->time_s(), end_->time_s()});
  }

 private:
  std::string name_;
  std::unique_ptr<kernels::Event> begin_, end_;
  bool is_open_ = false;  // ended, and nobody was told
};

}  // namespace tenax::parallel
