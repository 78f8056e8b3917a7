// StepObservers: a list of those who watch a step.
#pragma once

#include <vector>

#include "parallel/execution/step_observer.hpp"

namespace tenax::parallel {

/// Tells each of passes and messages, and those that want to know all of a step of the rest too. What is added must outlive
/// the list.
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

}  // namespace tenax::parallel
