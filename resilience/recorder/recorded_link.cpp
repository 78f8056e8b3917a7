#include "resilience/recorder/recorded_link.hpp"

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

int add_direction(Recorder& recorder, const std::string& name, int from, int to, int place) {
  return recorder.add_channel(name + " " + std::to_string(from) + ">" + std::to_string(to), ChannelKind::link,
                              place, 2);
}

}  // namespace

RecordedLink::RecordedLink(comm::Link& inner, const std::string& name, Ends ends, Recorder& recorder)
    : inner_(inner),
      recorder_(recorder),
      outgoing_(add_direction(recorder, name, ends.here, ends.there, 0)),
      incoming_(add_direction(recorder, name, ends.there, ends.here, 1)) {}

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

}  // namespace tenax::resilience
