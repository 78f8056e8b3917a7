// Ranks with an emulated device and direct links each, for tests, and what to do to their messages.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/emulated_device.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::comm {

inline constexpr double kPatience_s = 20;  // for what happens unless something is broken
inline const kernels::Tensor kDataless{nullptr, kernels::DType::f32, {250}};

inline kernels::Deadline soon() { return kernels::Deadline::after_s(kPatience_s); }

/// Holds the messages on the network until it is opened, and counts them.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_until(lock, soon().when(), [this] { return open_; }));
    --inside_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait_for_messages(int inside) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, soon().when(), [&] { return inside_ >= inside; });
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int inside_ = 0, most_ = 0;
};

inline bool is_message(const std::string& purpose) { return purpose.starts_with(kDirectPurpose); }

inline OnSend hold_at(Gate& gate) {
  return [&gate](int, int, const std::string& purpose, const MessageHeader&) {
    if (is_message(purpose)) gate.pass();
  };
}

inline OnSend delay_by(double seconds) {
  return [seconds](int, int, const std::string& purpose, const MessageHeader&) {
    if (is_message(purpose)) kernels::sleep_until_s(kernels::steady_now_s() + seconds);
  };
}

/// A rank with a device of its own.
struct Rank {
  Rank(LocalNetwork& network, int rank, DirectOptions options) {
    std::vector<int> neighbours;
    const int size = static_cast<int>(network.peers().size());
    if (rank > 0) neighbours.push_back(rank - 1);
    if (rank + 1 < size) neighbours.push_back(rank + 1);
    endpoint = create_emulated_direct_endpoint("pipeline", network.peers(), rank, neighbours,
                                               network.transport(rank), *device, options);
  }
  std::unique_ptr<kernels::EmulatedDevice> device = kernels::create_emulated_device({});
  std::unique_ptr<kernels::Stream> stream = device->create_stream();
  std::unique_ptr<Endpoint> endpoint;

  TransferPtr send(int peer, Tag tag = 0) { return endpoint->link(peer).send(*stream, kDataless, tag); }
  TransferPtr receive(int peer, Tag tag = 0) { return endpoint->link(peer).receive(*stream, kDataless, tag); }
  double mark_s() {
    const auto event = device->create_event();
    stream->record(*event);
    return event->time_s();
  }
};

inline std::vector<std::unique_ptr<Rank>> make_ranks(LocalNetwork& network, DirectOptions options) {
  std::vector<std::unique_ptr<Rank>> ranks(network.peers().size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back(
        [&, rank] { ranks[rank] = std::make_unique<Rank>(network, static_cast<int>(rank), options); });
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

}  // namespace tenax::comm
