// Acknowledger: the thread that tells the peer how much has arrived, for all incoming channels at once: on a slow link,
// where saying something takes long, one message speaks for all that came meanwhile, and no delegate is held up by it.
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
  /// Ends the thread, then says farewell, if there is a connection to say it on within `patience_s`.
  void close(double patience_s) noexcept;

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
