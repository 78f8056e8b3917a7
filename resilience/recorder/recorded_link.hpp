// RecordedLink: another link, of whose messages the recorder hears, whichever way they go.
#pragma once

#include <string>

#include "comm/link.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// A direction of a link is a channel.
class RecordedLink final : public comm::Link {
 public:
  /// The two ranks that a link joins, by their numbers in a group.
  struct Ends {
    int here = 0, there = 0;
  };
  /// `name`: equal at both ends, and of no other group's links. Both references outlive it.
  RecordedLink(comm::Link& inner, const std::string& name, Ends ends, Recorder& recorder);
  ~RecordedLink() override;
  RecordedLink(const RecordedLink&) = delete;
  RecordedLink& operator=(const RecordedLink&) = delete;

  comm::TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override;
  comm::TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) override;
  comm::Signal* signal() override { return inner_.signal(); }
  std::string describe() const override { return inner_.describe(); }

 private:
  comm::Link& inner_;
  Recorder& recorder_;
  const int outgoing_, incoming_;  // channels
};

}  // namespace tenax::resilience
