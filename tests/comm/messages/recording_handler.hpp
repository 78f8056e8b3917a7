// A message server's handler that keeps what it hears, for tests.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/messages/message_server.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

/// Thread rule: any thread reads what the server's thread has heard.
class RecordingHandler : public MessageHandler {
 public:
  struct Heard {
    std::string purpose;
    std::vector<std::string> texts;
    std::string end;  ///< why it closed
  };
  void on_open(MessagePeerId peer, const std::string& purpose) override {
    const std::lock_guard lock(mutex_);
    heard_[peer].purpose = purpose;
  }
  void on_message(MessagePeerId peer, const std::string& text) override {
    {
      const std::lock_guard lock(mutex_);
      heard_[peer].texts.push_back(text);
    }
    if (answer) answer(peer, text);
  }
  void on_close(MessagePeerId peer, const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    heard_[peer].end = reason;
  }
  void on_time() override {
    const std::lock_guard lock(mutex_);
    ++times_;
  }

  std::map<MessagePeerId, Heard> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  Heard heard_of(const std::string& purpose) {
    for (const auto& [peer, heard] : heard())
      if (heard.purpose == purpose) return heard;
    return {};
  }
  MessagePeerId id_of(const std::string& purpose) {
    for (const auto& [peer, heard] : heard())
      if (heard.purpose == purpose) return peer;
    return 0;
  }
  int times() {
    const std::lock_guard lock(mutex_);
    return times_;
  }

  /// Called with each message; set before the server begins.
  std::function<void(MessagePeerId, const std::string&)> answer;

 private:
  std::mutex mutex_;
  std::map<MessagePeerId, Heard> heard_;
  int times_ = 0;
};

/// Waits for what another thread brings about.
inline bool happens(const std::function<bool()>& claim) {
  return poll_until(claim, kernels::Deadline::after_s(20));
}

}  // namespace tenax::comm
