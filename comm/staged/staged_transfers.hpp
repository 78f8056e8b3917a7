// The transfers of a staged link.
#pragma once

#include <optional>
#include <string>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/staged/staged_link.hpp"

namespace tenax::comm {

/// A message on its way out, shared by its transfer and the link's thread.
struct StagedMessage {
  HostBuffer host_buffer;
  kernels::Tensor host;
  Tag tag = 0;
  TransferPtr inner;  ///< under StagedContext::mutex, as the failure; null until the copy has ended
  std::optional<Failure> failure;  ///< what the thread met
};

class StagedSend final : public Transfer {
 public:
  StagedSend(StagedContext& context, std::string what, std::shared_ptr<StagedMessage> message)
      : context_(context), what_(std::move(what)), message_(std::move(message)) {}
  ~StagedSend() override;

  bool done() override;
  void wait(kernels::Deadline deadline) override;

 private:
  StagedContext& context_;
  std::string what_;
  std::shared_ptr<StagedMessage> message_;
  Stopwatch stopwatch_;
  bool done_ = false;
};

class StagedReceive final : public Transfer {
 public:
  /// `ready`: passed when the tensor may be written.
  StagedReceive(StagedContext& context, const kernels::Tensor& tensor, HostBuffer host_buffer,
                std::unique_ptr<kernels::Event> ready, TransferPtr inner)
      : context_(context),
        tensor_(tensor),
        ready_(std::move(ready)),
        host_buffer_(std::move(host_buffer)),
        inner_(std::move(inner)) {}
  ~StagedReceive() override;

  bool done() override;
  void wait(kernels::Deadline deadline) override;
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override;
  bool orders_without_blocking() const override { return !inner_; }
  void cancel(kernels::Deadline deadline) override;

 private:
  bool arrived();
  void wait_for_arrival(kernels::Deadline deadline);

  StagedContext& context_;
  kernels::Tensor tensor_;
  std::unique_ptr<kernels::Event> ready_;
  HostBuffer host_buffer_;  // until the message is in the tensor
  TransferPtr inner_;       // until it is in the host buffer
};

}  // namespace tenax::comm
