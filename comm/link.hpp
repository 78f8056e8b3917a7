// Link: tagged point-to-point messages between this rank and one peer. Endpoint: this rank's links
// to a group.
//
// Thread rule: an Endpoint and its links are used by one thread at a time. Messages of one tag
// arrive in the order they were sent. Both ends name the same byte count; a mismatch is an
// Error(link).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/signal.hpp"
#include "comm/transfer.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

using Tag = int;  ///< 0 ≤ tag < kMaxTag
inline constexpr Tag kMaxTag = 1 << 20;

class Link {
 public:
  virtual ~Link() = default;
  /// Starts once `stream` has passed what is enqueued on it now. Does not block. `tensor` must not
  /// change until done.
  virtual TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) = 0;
  /// Posts a receive into `tensor`, which is written once `stream` has passed what is enqueued on
  /// it now. Does not block.
  virtual TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) = 0;
  /// Notified whenever a transfer of this link may have become done; null where only polling tells
  /// (MPI).
  virtual Signal* signal() { return nullptr; }
  virtual std::string describe() const = 0;  ///< "rank 1 (hostA) - rank 2 (hostB)", in world ranks
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The link to `peer` (≠ rank()), owned by the endpoint.
  virtual Link& link(int peer) = 0;
  virtual std::string describe(int peer) const = 0;  ///< "rank 2 (hostB)", in world ranks
};

/// Host memory as a message.
inline kernels::Tensor as_tensor(std::span<double> values) {
  return {values.data(), kernels::DType::f64, {static_cast<std::int64_t>(values.size())}};
}
inline kernels::Tensor as_tensor(std::span<std::int32_t> words) {
  return {words.data(), kernels::DType::i32, {static_cast<std::int64_t>(words.size())}};
}

class HostStream final : public kernels::Stream {
 public:
  void record(kernels::Event&) override {}
  void wait(const kernels::Event&) override {}
  void synchronize(kernels::Deadline) override {}
};

}  // namespace tenax::comm
