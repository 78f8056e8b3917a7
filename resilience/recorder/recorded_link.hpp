// RecordedEndpoint: an endpoint whose messages the recorder hears of.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/link.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// A direction of a link is a channel.
class RecordedLink final : public comm::Link {
 public:
  /// `outgoing`, `incoming`: channels. Both references outlive it.
  RecordedLink(comm::Link& inner, Recorder& recorder, int outgoing, int incoming)
      : inner_(inner), recorder_(recorder), outgoing_(outgoing), incoming_(incoming) {}
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
  const int outgoing_, incoming_;
};

class RecordedEndpoint final : public comm::Endpoint {
 public:
  /// `name`: equal on all ranks of it. `recorder` must outlive it.
  RecordedEndpoint(std::unique_ptr<comm::Endpoint> inner, std::string name, Recorder& recorder)
      : inner_(std::move(inner)),
        name_(std::move(name)),
        recorder_(recorder),
        links_(static_cast<std::size_t>(inner_->size())) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  comm::Link& link(int peer) override;
  std::string describe(int peer) const override { return inner_->describe(peer); }

 private:
  int add_direction(int from, int to);

  const std::unique_ptr<comm::Endpoint> inner_;
  const std::string name_;
  Recorder& recorder_;
  std::vector<std::unique_ptr<RecordedLink>> links_;  // by peer, once it was asked for
};

}  // namespace tenax::resilience
