#include "resilience/faults/injected_message_link.hpp"

#include <algorithm>
#include <utility>

#include "comm/signal.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Deadline;

std::unique_ptr<comm::MessageLink> InjectedMessageLink::make(const comm::MessageConnector& connect,
                                                             const comm::MessageClientOptions& options,
                                                             const PeerFaults& faults) {
  if (!faults.waits_for_light(PeerFaults::kService, options.deadline))
    throw kernels::Error(kernels::Scope::link, "the service does not answer (injected: see [[inject]])");
  return std::make_unique<InjectedMessageLink>(connect(options), faults);
}

void InjectedMessageLink::send(std::string_view text) {
  const std::lock_guard lock(mutex_);
  kept_.emplace_back(text);
  if (!is_dark()) flush();
}

std::optional<std::string> InjectedMessageLink::receive(Deadline deadline) {
  if (!waits_for_light(deadline)) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    flush();
  }
  return inner_->receive(deadline);
}

void InjectedMessageLink::wake() noexcept {
  inner_->wake();
  comm::change_and_notify(mutex_, woken_, [this] { is_woken_ = true; });
}

bool InjectedMessageLink::waits_for_light(Deadline deadline) {
  const auto light = faults_.light_at(PeerFaults::kService);
  if (PeerFaults::Clock::now() >= light) return true;
  std::unique_lock lock(mutex_);
  woken_.wait_until(lock, std::min(light, deadline.when()), [this] { return is_woken_; });
  is_woken_ = false;
  return PeerFaults::Clock::now() >= light;
}

void InjectedMessageLink::flush() {
  for (const std::string& text : std::exchange(kept_, {})) inner_->send(text);
}

}  // namespace tenax::resilience
