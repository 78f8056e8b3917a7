// A group of one rank, which a test can slow down or count the messages of.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/control_group.hpp"

namespace tenax::resilience {

class LoneGroup final : public comm::ControlGroup {
 public:
  /// Calls `on_message` for each message that a larger group would wait for.
  explicit LoneGroup(std::function<void()> on_message) : on_message_(std::move(on_message)) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string broadcast(const std::string& text, int /*root*/) override { return all_gather(text).front(); }
  std::vector<std::string> all_gather(const std::string& text) override {
    on_message_();
    return {text};
  }
  void all_reduce_sum(std::span<double> /*values*/) override { on_message_(); }
  void all_reduce_sum(std::span<double> /*values*/, const std::vector<int>& /*order*/) override {
    on_message_();
  }
  void all_reduce_max(std::span<double> /*values*/) override { on_message_(); }
  void hurry(double /*seconds*/) noexcept override {}

 private:
  std::function<void()> on_message_;
};

}  // namespace tenax::resilience
