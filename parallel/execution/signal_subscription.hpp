// SignalSubscription: what wakes a thread that waits for any of two links.
#pragma once

#include <vector>

#include "parallel/execution/row_traffic.hpp"

namespace tenax::parallel {

/// While it lives, the links' signals are passed on to `signal`.
class SignalSubscription {
 public:
  SignalSubscription(PipelineNeighbours neighbours, comm::Signal& signal) {
    for (comm::Link* link : {neighbours.upstream, neighbours.downstream}) {
      if (!link) continue;
      to_all_ = to_all_ && link->signal();
      if (!link->signal()) continue;
      link->signal()->pass_on_to(&signal);
      sources_.push_back(link->signal());
    }
  }
  ~SignalSubscription() {
    for (comm::Signal* source : sources_) source->pass_on_to(nullptr);
  }
  SignalSubscription(const SignalSubscription&) = delete;
  SignalSubscription& operator=(const SignalSubscription&) = delete;
  bool to_all() const { return to_all_; }

 private:
  std::vector<comm::Signal*> sources_;
  bool to_all_ = true;
};

}  // namespace tenax::parallel
