// Ranks of several replicas as threads of this process, and what their sums must be.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "comm/ftar/ftar_group.hpp"
#include "comm/ftar/ring_plan.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/cpu/element.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::DType;

inline Deadline soon() { return Deadline::after_s(60); }

/// The transports of so many replicas.
class FtarRanks {
 public:
  using Make = std::function<std::unique_ptr<Transport>(int replica)>;

  explicit FtarRanks(int ranks, TransportKind kind = TransportKind::tcp)
      : FtarRanks(ranks, [kind](int) {
          return create_transport(
              {.kind = kind, .interfaces = {"lo"}, .deadline_s = 20, .secret = one_job()});
        }) {}
  FtarRanks(int ranks, const Make& make) {
    for (int i = 0; i < ranks; ++i) {
      transports_.push_back(make(i));
      peers_.push_back({i, "replica " + std::to_string(i), transports_.back()->addresses()});
    }
  }
  /// Nobody is reached at addresses that begin so.
  void forget_addresses(std::string_view beginning) {
    for (Peer& peer : peers_)
      std::erase_if(peer.addresses,
                    [&](const std::string& address) { return address.starts_with(beginning); });
  }
  int size() const { return static_cast<int>(peers_.size()); }
  Transport& transport(int index) { return *transports_[static_cast<std::size_t>(index)]; }
  kernels::Device& device() { return *device_; }

  /// The ring of these replicas, in this order, as `index` sees it.
  FtarRing ring(std::int64_t epoch, int index, const std::vector<int>& members) const {
    FtarRing ring{.epoch = epoch, .rank = 0, .index = 0, .peers = {}};
    for (const int member : members) {
      if (member == index) ring.index = ring.size();
      ring.peers.push_back(peers_[static_cast<std::size_t>(member)]);
    }
    return ring;
  }
  std::vector<int> all() const {
    std::vector<int> members;
    for (int i = 0; i < size(); ++i) members.push_back(i);
    return members;
  }
  std::unique_ptr<FtarGroup> group(std::int64_t epoch, int index, const std::vector<int>& members,
                                   FtarOptions options = {}) {
    return std::make_unique<FtarGroup>(ring(epoch, index, members), transport(index), *device_,
                                       std::move(options));
  }

  /// Calls `body` on a thread for each of them; an exception that leaves it fails the test.
  static void run(const std::vector<int>& members, const std::function<void(int index)>& body) {
    std::vector<std::thread> threads;
    for (const int index : members)
      threads.emplace_back([&body, index] {
        try {
          body(index);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "replica " << index << ": " << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Peer> peers_;
};

/// The values of one replica: of all magnitudes, so that each order of addition has a sum of its own.
template <class T>
std::vector<T> values_of(int replica, std::int64_t elements, int bucket = 0) {
  std::mt19937 random(static_cast<std::uint32_t>(1000 * bucket + replica));
  std::vector<T> values(static_cast<std::size_t>(elements));
  for (T& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value =
        static_cast<T>(static_cast<double>(bits % 20011) / 1000.0 - 10.0) * static_cast<T>(1 + (bits >> 24));
  }
  return values;
}

inline float on_the_wire(float value, WireType wire) {
  return wire == WireType::bf16 ? kernels::widen(kernels::to_bf16(value)) : value;
}
inline double on_the_wire(double value, WireType) { return value; }

/// The sum of `replicas` in the order that RingPlan promises.
template <class T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& values, DType dtype, const FtarOptions& options) {
  const auto ranks = static_cast<int>(values.size());
  std::vector<T> sums = values[0];
  if (ranks == 1 || sums.empty()) return sums;
  for (int first = 0; first < ranks; ++first) {
    const RingPlan plan(static_cast<std::int64_t>(sums.size()), dtype,
                        {ranks, first, options.chunk_bytes, options.chunks_in_flight});
    for (std::int64_t turn = 0; turn < plan.turns(); turn += 2 * (ranks - 1))
      for (int column = 0; column < plan.columns(); ++column) {
        const auto [begin, elements] = plan.sent(turn, column);
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + elements); ++i) {
          T sum = values[static_cast<std::size_t>(first)][i];
          for (int k = 1; k < ranks; ++k)
            sum = values[static_cast<std::size_t>((first + k) % ranks)][i] + on_the_wire(sum, options.wire);
          sums[i] = on_the_wire(sum, options.wire);
        }
      }
  }
  return sums;
}

template <class T>
kernels::Tensor tensor_of(std::vector<T>& values, DType dtype) {
  return {values.data(), dtype, {static_cast<std::int64_t>(values.size())}};
}

/// Sums step by step until `is_enough`; each is what TCP carries. `is_registered`: the buckets lie in memory
/// that leaves without a copy.
inline void expect_sums_until(FtarRanks& replicas, const FtarOptions& options, bool is_registered,
                              const std::function<bool(std::int64_t step)>& is_enough) {
  constexpr std::int64_t kElements = 40009;
  std::vector<std::vector<float>> values;
  for (int i = 0; i < replicas.size(); ++i) values.push_back(values_of<float>(i, kElements));
  const std::vector<float> expected = sum_of(values, DType::f32, options);
  constexpr std::int64_t kMostSteps = 1 << 30;
  std::atomic<std::int64_t> last_step = kMostSteps;
  FtarRanks::run(replicas.all(), [&](int i) {
    std::vector<float> in = values[static_cast<std::size_t>(i)], out(in.size());
    std::vector<std::unique_ptr<MemoryRegistration>> registrations;
    for (std::vector<float>* memory : {&in, &out})
      if (is_registered)
        registrations.push_back(
            replicas.transport(i).register_memory(std::as_writable_bytes(std::span(*memory))));
    const auto group = replicas.group(1, i, replicas.all(), options);
    for (std::int64_t step = 0; step <= last_step; ++step) {
      std::fill(out.begin(), out.end(), 0.0F);
      group->start({{step, 0}, tensor_of(in, DType::f32), tensor_of(out, DType::f32)})->wait(soon());
      ASSERT_EQ(out, expected) << "step " << step;
      if (i == 0 && last_step == kMostSteps && is_enough(step)) last_step = step + 1;  // nobody is further
    }
  });
}

/// What a wait complained about.
inline FtarFailure complaint_of(const std::function<void()>& wait) {
  try {
    wait();
  } catch (const FtarError& error) {
    return error.failure();
  }
  ADD_FAILURE() << "no FtarError";
  return {};
}

}  // namespace tenax::comm
