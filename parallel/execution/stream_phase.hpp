// StreamPhase: when a stretch of a stream's work ran, without waiting for it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/device.hpp"
#include "parallel/execution/step_observer.hpp"

namespace tenax::parallel {

/// Begun again before anybody was told, the stretch before is forgotten.
class StreamPhase {
 public:
  StreamPhase(kernels::Device& device, std::string name)
      : name_(std::move(name)), begin_(device.create_event()), end_(device.create_event()) {}

  void begin(kernels::Stream& stream) { stream.record(*begin_); }
  void end(kernels::Stream& stream) {
    stream.record(*end_);
    is_open_ = true;
  }
  /// Tells `observer`, which may be null, unless the stretch still runs or was told of.
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
