// A group of host threads (kernels/cuda/group.hpp): what a group of a GPU's threads computes together, run where there is
// none. SingleThread shows that a body's arithmetic is right, this that its threads share a row without gaps.
#pragma once

#include <array>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/cuda/group.hpp"

namespace tenax::kernels::test {

class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : shared_(std::make_shared<Shared>(size)) {}
  ThreadGroup member(int rank) const {
    ThreadGroup result = *this;
    result.rank_ = rank;
    return result;
  }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(shared_->slots.size()); }
  void sync() const { shared_->barrier.arrive_and_wait(); }
  /// In the order of ranks.
  template <class T>
  T sum(T value) const {
    return combined(value, [](T a, T b) { return a + b; });
  }
  template <class T>
  T max(T value) const {
    return combined(value, [](T a, T b) { return a > b ? a : b; });
  }

 private:
  static constexpr std::size_t kSlotBytes = 64;
  struct Shared {
    explicit Shared(int size) : barrier(size), slots(static_cast<std::size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<std::array<std::byte, kSlotBytes>> slots;
  };
  template <class T, class Combine>
  T combined(T value, Combine combine) const {
    static_assert(sizeof(T) <= kSlotBytes);
    std::memcpy(shared_->slots[static_cast<std::size_t>(rank_)].data(), &value, sizeof value);
    sync();
    T total = at<T>(0);
    for (int rank = 1; rank < size(); ++rank) total = combine(total, at<T>(rank));
    sync();
    return total;
  }
  template <class T>
  T at(int rank) const {
    T value;
    std::memcpy(&value, shared_->slots[static_cast<std::size_t>(rank)].data(), sizeof value);
    return value;
  }

  std::shared_ptr<Shared> shared_;
  int rank_ = 0;
};

/// body(group) on each of `size` threads; with one, on this.
template <class Body>
void for_group(int size, const Body& body) {
  if (size == 1) return body(SingleThread{});
  const ThreadGroup group(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&body, member = group.member(rank)] { body(member); });
}

/// body(group) on one thread, then on three that share the work. The body must give the same result both times.
template <class Body, class Check>
void for_each_group(const Body& body, const Check& check) {
  body(SingleThread{});
  check();
  for_group(3, body);
  check();
}

}  // namespace tenax::kernels::test
