// OpMeter: seconds, calls and costs by operation, for the breakdown of a step, on devices that run operations at once and
// on those that run them later.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "tests/bench/op_costs.hpp"

namespace tenax::bench {

/// Used by one thread. Operations of one step may run on several streams; their times are the streams' own.
class OpMeter {
 public:
  struct Sum {
    double seconds = 0;
    long calls = 0;
    OpCost cost;
  };

  explicit OpMeter(kernels::Device& device) : device_(device) {}

  template <class Work>
  void measure(const std::string& name, const OpCost& cost, kernels::Stream& stream, Work work) {
    Pair& events = next_events();
    events.name = name;
    stream.record(*events.begin);
    work();
    stream.record(*events.end);
    Sum& sum = sum_of_name_[name];
    ++sum.calls;
    sum.cost.flop += cost.flop;
    sum.cost.bytes += cost.bytes;
  }
  /// Waits for everything measured, and adds up what the events say.
  void collect() {
    constexpr double kWait_s = 600;
    for (std::size_t i = 0; i < used_; ++i) {
      events_[i].end->wait(kernels::Deadline::after_s(kWait_s));
      sum_of_name_[events_[i].name].seconds += events_[i].end->time_s() - events_[i].begin->time_s();
    }
    used_ = 0;
  }
  void reset() {
    sum_of_name_.clear();
    used_ = 0;
  }
  const std::map<std::string, Sum>& sums() const { return sum_of_name_; }

 private:
  struct Pair {
    std::string name;
    std::unique_ptr<kernels::Event> begin, end;
  };
  Pair& next_events() {
    if (used_ == events_.size()) events_.push_back({{}, device_.create_event(), device_.create_event()});
    return events_[used_++];
  }

  kernels::Device& device_;
  std::map<std::string, Sum> sum_of_name_;
  std::vector<Pair> events_;
  std::size_t used_ = 0;
};

}  // namespace tenax::bench
