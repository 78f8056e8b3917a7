// InjectedMessageLink: a link to the membership service that may be dark.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "comm/messages/message_client.hpp"
#include "resilience/faults/peer_faults.hpp"

namespace tenax::resilience {

class InjectedMessageLink final : public comm::MessageLink {
 public:
  /// `faults` must outlive it.
  InjectedMessageLink(std::unique_ptr<comm::MessageLink> inner, const PeerFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}
  /// Connects, once it is light. Throws Error(link) as `connect` does, and when the deadline comes first.
  static std::unique_ptr<comm::MessageLink> make(const comm::MessageConnector& connect,
                                                 const comm::MessageClientOptions& options,
                                                 const PeerFaults& faults);

  /// In the dark it is kept, until somebody receives in the light.
  void send(std::string_view text) override;
  std::optional<std::string> receive(kernels::Deadline deadline) override;
  void wake() noexcept override;

 private:
  bool is_dark() const { return faults_.is_dark(PeerFaults::kService); }
  /// Whether it is light now.
  bool waits_for_light(kernels::Deadline deadline);
  void flush();

  const std::unique_ptr<comm::MessageLink> inner_;
  const PeerFaults& faults_;
  std::mutex mutex_;  // of what follows
  std::condition_variable woken_;
  bool is_woken_ = false;
  std::deque<std::string> kept_;
};

}  // namespace tenax::resilience
