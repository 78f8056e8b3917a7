// StagedLink: one link of a staged endpoint.
#pragma once

#include <mutex>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/host_staging.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

/// What the links of a staged endpoint share. Lives in the endpoint, longer than links and
/// transfers.
class StagedContext {
 public:
  StagedContext(std::unique_ptr<Endpoint> inner, kernels::Device& device, CommOptions options);
  ~StagedContext();
  StagedContext(const StagedContext&) = delete;
  StagedContext& operator=(const StagedContext&) = delete;

  /// A buffer that no copy uses any more.
  HostBuffer take(std::size_t bytes);
  /// Its copy may still be under way.
  void give_back(HostBuffer host_buffer);

  const std::unique_ptr<Endpoint> inner;
  kernels::Device& device;
  const double deadline_s;
  const std::unique_ptr<kernels::Stream> out, in;  ///< copies in each direction run on them
  HostStream host;                                 ///< of `inner`'s transfers, which may refer to it
  std::mutex mutex;  ///< one thread at a time uses `inner`, its links and its transfers

 private:
  HostStaging staging_;
  std::vector<HostBuffer> returned_;  // the endpoint's thread alone uses it
};

class StagedLink final : public Link {
 public:
  StagedLink(StagedContext& context, int peer) : context_(context), peer_(peer) {}

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  std::string describe() const override { return context_.inner->link(peer_).describe(); }

 private:
  StagedContext& context_;
  const int peer_;
  Worker sender_;  // waits for copies, one after the other, and sends them
};

}  // namespace tenax::comm
