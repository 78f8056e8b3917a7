// Acknowledger: the thread that tells the peer how many messages have arrived, for all incoming
// channels at once. On a slow link one acknowledgement covers all that came during the last one,
// and no delegate waits for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/delegates/incoming_channel.hpp"

namespace tenax::comm {

class Acknowledger {
 public:
  using Channels = std::vector<IncomingChannel*>;
  /// `channels`: asked from the thread, for the channels there are now; they outlive close().
  Acknowledger(const LinkParties& parties, std::function<Channels()> channels);
  ~Acknowledger();
  Acknowledger(const Acknowledger&) = delete;
  Acknowledger& operator=(const Acknowledger&) = delete;

  void notify();
  /// Ends the thread, then sends a farewell if a connection comes up within `patience_s`. Gives up
  /// when `is_over`: the peer has closed the link, too, or it has failed.
  void close(double patience_s, const std::function<bool()>& is_over) noexcept;

 private:
  void run();
  void stop();
  bool tell(MessageKind kind);

  const LinkParties& parties_;
  std::function<Channels()> channels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_news_ = false, is_stopped_ = false;
  std::thread thread_;
};

}  // namespace tenax::comm
