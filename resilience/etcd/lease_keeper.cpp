#include "resilience/etcd/lease_keeper.hpp"

#include <chrono>

#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Error;
using kernels::Scope;

LeaseKeeper::LeaseKeeper(RunLease& lease)
    : lease_(lease), thread_(comm::start_prompt_thread([this] { run(); })) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::check() {
  const std::lock_guard lock(mutex_);
  keep();
  if (is_deposed_) throw Error(Scope::job, "another supervisor has taken this run over while this one began");
}

// Who was in charge in between has taken the run's locks: whoever checks looks at those too.
void LeaseKeeper::keep() { is_deposed_ = is_deposed_ || (!lease_.keep() && !lease_.campaign()); }

void LeaseKeeper::run() {
  constexpr double kTimes = 4;  // in a lease
  const std::chrono::duration<double> pause(static_cast<double>(lease_.lease_s()) / kTimes);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pause, [&] { return stopping_; })) try {
      keep();
    } catch (const Error&) {  // once more; check() tells
    }
}

}  // namespace tenax::resilience
