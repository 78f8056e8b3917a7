// The ranks of a communicator of the fake NCCL: where they meet, and leave what they bring each other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

namespace tenax::comm::fake_nccl {

using Bytes = std::vector<std::byte>;

/// To all ranks where `to` is negative. `step`: 0 what is sent, 1 that it was received.
struct Key {
  int from = 0, to = -1;
  int number = 0, step = 0;
  auto operator<=>(const Key&) const = default;
};

/// Thread rule: any thread.
class Clique {
 public:
  explicit Clique(int size) : size_(size) {}

  enum Meeting { joining, connecting, finalizing, kMeetings };
  void come(Meeting meeting) { ++present_[meeting]; }
  bool all_here(Meeting meeting) const { return present_[meeting] >= size_; }
  int size() const { return size_; }

  void put(const Key& key, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    board_[key] = std::move(bytes);
  }
  /// What is left under `key`, once it is; nothing when `given_up` turned true first.
  std::optional<Bytes> get(const Key& key, const std::atomic<bool>& given_up) const {
    for (; !given_up; std::this_thread::sleep_for(std::chrono::microseconds(100))) {
      const std::lock_guard lock(mutex_);
      if (const auto found = board_.find(key); found != board_.end()) return found->second;
    }
    return {};
  }

 private:
  const int size_;
  std::atomic<int> present_[kMeetings] = {};
  mutable std::mutex mutex_;
  std::map<Key, Bytes> board_;
};

}  // namespace tenax::comm::fake_nccl
