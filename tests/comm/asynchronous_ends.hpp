// Two ranks of this process, each with a device that runs later than it is told to and memory the host must not touch.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/kernels.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/meddling_transport.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {

inline kernels::Deadline patience() { return kernels::Deadline::after_s(60); }

/// A tensor of floats on a device, and the pinned memory through which the host writes and reads it.
class DeviceFloats {
 public:
  DeviceFloats(kernels::Device& device, std::size_t count)
      : device_(device),
        memory_(device.allocate(count * sizeof(float))),
        pinned_(device.allocate(count * sizeof(float), kernels::MemoryKind::pinned_host)),
        count_(static_cast<std::int64_t>(count)) {}

  kernels::Tensor tensor() const { return memory_->tensor(kernels::DType::f32, {count_}); }
  /// Once: what is enqueued reads the pinned memory later.
  void write(kernels::Stream& stream, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), host().as<float>());
    if (count_ > 0) device_.kernels().copy(stream, host(), tensor());
  }
  /// Enqueues a copy to where values() finds it.
  void fetch(kernels::Stream& stream) {
    if (count_ > 0) device_.kernels().copy(stream, tensor(), host());
  }
  std::vector<float> values() const { return {host().as<float>(), host().as<float>() + count_}; }

 private:
  kernels::Tensor host() const { return pinned_->tensor(kernels::DType::f32, {count_}); }

  kernels::Device& device_;
  std::unique_ptr<kernels::Buffer> memory_, pinned_;
  std::int64_t count_;
};

struct AsynchronousEnd {
  explicit AsynchronousEnd(std::uint64_t seed, TransportKind transport = TransportKind::automatic,
                           bool registers = true)
      : device(kernels::test::create_stand_in({.jitter_us = 100, .seed = seed, .registers = registers})),
        stream(device->create_stream()),
        network(create_transport({.kind = transport, .interfaces = {"lo"}, .secret = one_job()})) {}

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Stream> stream;
  MeddlingTransport network;
  std::unique_ptr<DelegatedLink> link;
};

class AsynchronousEnds : public ::testing::Test {
 protected:
  void make_ends(TransportKind transport) {
    for (const int rank : {0, 1})
      ends[rank] = std::make_unique<AsynchronousEnd>(static_cast<std::uint64_t>(rank + 1), transport);
  }
  void make_links(DelegateOptions options = {.delegates = 3}) {
    std::vector<Peer> peers;
    for (int rank = 0; rank < 2; ++rank)
      peers.push_back({rank, "rank " + std::to_string(rank) + " (here)", ends[rank]->network.addresses()});
    for (int rank = 0; rank < 2; ++rank)
      ends[rank]->link = create_delegated_link("p0", peers[static_cast<std::size_t>(rank)],
                                               peers[static_cast<std::size_t>(1 - rank)], ends[rank]->network,
                                               *ends[rank]->device, options);
  }
  std::unique_ptr<AsynchronousEnd> ends[2] = {std::make_unique<AsynchronousEnd>(1),
                                              std::make_unique<AsynchronousEnd>(2)};
};

}  // namespace tenax::comm
