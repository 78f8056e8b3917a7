#include "resilience/recorder/recorded_endpoint.hpp"

#include "resilience/recorder/recorded_transfer.hpp"

namespace tenax::resilience {
namespace {

/// `start` starts it.
template <class Start>
comm::TransferPtr record_message(Recorder& recorder, OperationKind kind, int channel,
                                 const kernels::Tensor& tensor, Start start) {
  const Recorder::Ticket ticket = recorder.begin(kind, channel, static_cast<std::int64_t>(tensor.bytes()));
  try {
    return std::make_unique<RecordedTransfer>(start(), recorder, ticket);
  } catch (...) {
    recorder.end(ticket);
    throw;
  }
}

}  // namespace

RecordedLink::~RecordedLink() {
  recorder_.remove_channel(outgoing_);
  recorder_.remove_channel(incoming_);
}

comm::TransferPtr RecordedLink::send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) {
  return record_message(recorder_, OperationKind::send, outgoing_, tensor,
                        [&] { return inner_.send(stream, tensor, tag); });
}

comm::TransferPtr RecordedLink::receive(kernels::Stream& stream, const kernels::Tensor& tensor,
                                        comm::Tag tag) {
  return record_message(recorder_, OperationKind::receive, incoming_, tensor,
                        [&] { return inner_.receive(stream, tensor, tag); });
}

comm::Link& RecordedEndpoint::link(int peer) {
  auto& link = links_[static_cast<std::size_t>(peer)];
  if (!link)
    link = std::make_unique<RecordedLink>(inner_->link(peer), recorder_, add_direction(rank(), peer),
                                          add_direction(peer, rank()));
  return *link;
}

int RecordedEndpoint::add_direction(int from, int to) {
  return recorder_.add_channel(name_ + " " + std::to_string(from) + ">" + std::to_string(to),
                               ChannelKind::link, from == rank() ? 0 : 1, 2);
}

}  // namespace tenax::resilience
