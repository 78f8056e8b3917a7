#include "io/deck/choice.hpp"

#include <algorithm>

namespace tenax::io {

using Words = std::vector<std::string>;

const Words& words_of(Schedule) {
  static const Words words = {"gpipe", "1f1b", "zero_bubble", "adaptive"};
  return words;
}
const Words& words_of(P2p) {
  static const Words words = {"direct", "delegated", "auto"};
  return words;
}
const Words& words_of(TransportKind) {
  static const Words words = {"auto", "tcp", "shm", "verbs"};
  return words;
}
const Words& words_of(DeviceKind) {
  static const Words words = {"auto", "cpu", "cuda", "emulated"};
  return words;
}
const Words& words_of(DirectModel) {
  static const Words words = {"send_queue", "shared_channel"};
  return words;
}
const Words& words_of(Recompute) {
  static const Words words = {"none", "gelu_layernorm"};
  return words;
}
const Words& words_of(ComputeDtype) {
  static const Words words = {"fp32", "bf16"};
  return words;
}
const Words& words_of(OptimizerKind) {
  static const Words words = {"adamw", "lion"};
  return words;
}
const Words& words_of(LrSchedule) {
  static const Words words = {"constant", "cosine", "linear"};
  return words;
}
const Words& words_of(FaultKind) {
  static const Words words = {"", "link_delay", "link_down"};
  return words;
}

bool splits_backward(Schedule schedule) {
  return schedule == Schedule::zero_bubble || schedule == Schedule::adaptive;
}

Words AnyChoice::words() const {
  Words said = *words_;
  std::erase(said, "");
  return said;
}

bool AnyChoice::set(std::string_view word) {
  const auto found = std::find(words_->begin(), words_->end(), word);
  if (word.empty() || found == words_->end()) return false;
  index_ = static_cast<int>(found - words_->begin());
  return true;
}

}  // namespace tenax::io
