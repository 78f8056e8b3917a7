#include "resilience/recorder/recorded_communicator.hpp"

#include <utility>

#include "resilience/recorder/recorded_transfer.hpp"

namespace tenax::resilience {

using kernels::Stream;
using kernels::Tensor;

RecordedCommunicator::RecordedCommunicator(std::unique_ptr<comm::Communicator> inner, const std::string& name,
                                           Recorder& recorder)
    : inner_(std::move(inner)),
      recorder_(recorder),
      channel_(recorder.add_channel(name, ChannelKind::group, inner_->rank(), inner_->size())) {}

RecordedCommunicator::~RecordedCommunicator() { recorder_.remove_channel(channel_); }

void RecordedCommunicator::all_reduce(Stream& stream, const Tensor& tensor, comm::ReduceOp op) {
  const StoodIn stood(recorder_, OperationKind::all_reduce, channel_,
                      static_cast<std::int64_t>(tensor.bytes()));
  inner_->all_reduce(stream, tensor, op);
}

comm::TransferPtr RecordedCommunicator::start_reduce_scatter(Stream& stream, const Tensor& tensor) {
  const auto ticket =
      recorder_.begin(OperationKind::reduce_scatter, channel_, static_cast<std::int64_t>(tensor.bytes()));
  return std::make_unique<RecordedTransfer>(inner_->start_reduce_scatter(stream, tensor), recorder_, ticket);
}

comm::TransferPtr RecordedCommunicator::start_all_gather(Stream& stream, const Tensor& tensor) {
  const auto ticket =
      recorder_.begin(OperationKind::all_gather, channel_, static_cast<std::int64_t>(tensor.bytes()));
  return std::make_unique<RecordedTransfer>(inner_->start_all_gather(stream, tensor), recorder_, ticket);
}

RecordedControlGroup::RecordedControlGroup(std::unique_ptr<comm::ControlGroup> inner, const std::string& name,
                                           Recorder& recorder)
    : inner_(std::move(inner)),
      recorder_(recorder),
      channel_(recorder.add_channel(name, ChannelKind::group, inner_->rank(), inner_->size())) {}

RecordedControlGroup::~RecordedControlGroup() { recorder_.remove_channel(channel_); }

// A text's length is known to its root alone: it is no part of what ranks must agree on.
std::string RecordedControlGroup::broadcast(const std::string& text, int root) {
  const StoodIn stood(recorder_, OperationKind::broadcast, channel_, 0);
  return inner_->broadcast(text, root);
}

std::vector<std::string> RecordedControlGroup::all_gather(const std::string& text) {
  const StoodIn stood(recorder_, OperationKind::gather, channel_, 0);
  return inner_->all_gather(text);
}

void RecordedControlGroup::all_reduce_sum(std::span<double> values) {
  const StoodIn stood(recorder_, OperationKind::sum, channel_,
                      static_cast<std::int64_t>(values.size_bytes()));
  inner_->all_reduce_sum(values);
}

void RecordedControlGroup::all_reduce_sum(std::span<double> values, const std::vector<int>& order) {
  const StoodIn stood(recorder_, OperationKind::sum, channel_,
                      static_cast<std::int64_t>(values.size_bytes()));
  inner_->all_reduce_sum(values, order);
}

void RecordedControlGroup::all_reduce_max(std::span<double> values) {
  const StoodIn stood(recorder_, OperationKind::sum, channel_,
                      static_cast<std::int64_t>(values.size_bytes()));
  inner_->all_reduce_max(values);
}

}  // namespace tenax::resilience
