// RecordedConnection: another connection, whose messages, or bytes, are counted.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/forwarding_connection.hpp"
#include "comm/polled_stream.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

class RecordedStream final : public comm::PolledStream {
 public:
  /// Channels; both references outlive it.
  RecordedStream(comm::PolledStream& inner, Recorder& recorder, int outgoing, int incoming)
      : inner_(inner), recorder_(recorder), outgoing_(outgoing), incoming_(incoming) {}

  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override {
    return counted(outgoing_, inner_.write_some(head, tail));
  }
  std::size_t read_some(std::span<std::byte> bytes) override {
    return counted(incoming_, inner_.read_some(bytes));
  }
  std::span<const std::byte> peek() override { return inner_.peek(); }
  void take(std::size_t bytes) override { inner_.take(counted(incoming_, bytes)); }
  int socket() const override { return inner_.socket(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override {
    return inner_.prepare_to_sleep(wants_room, polled);
  }
  void finish() override { inner_.finish(); }
  double held_until_s() const override { return inner_.held_until_s(); }
  bool carries_descriptors() const override { return inner_.carries_descriptors(); }
  void send_descriptor(int descriptor) override { inner_.send_descriptor(descriptor); }
  int receive_descriptor() override { return inner_.receive_descriptor(); }

 private:
  std::size_t counted(int channel, std::size_t bytes) {
    if (bytes > 0) recorder_.count(channel, static_cast<std::int64_t>(bytes));
    return bytes;
  }

  comm::PolledStream& inner_;
  Recorder& recorder_;
  const int outgoing_, incoming_;
};

class RecordedConnection final : public comm::ForwardingConnection {
 public:
  RecordedConnection(std::unique_ptr<comm::Connection> inner, Recorder& recorder, int outgoing, int incoming)
      : ForwardingConnection(std::move(inner)),
        recorder_(recorder),
        outgoing_(outgoing),
        incoming_(incoming) {}
  ~RecordedConnection() override {
    recorder_.remove_channel(outgoing_);
    recorder_.remove_channel(incoming_);
  }

  void send(const comm::MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    inner().send(header, payload, deadline);
    recorder_.count(outgoing_, 1);
  }
  std::optional<comm::MessageHeader> receive(kernels::Deadline deadline) override {
    auto header = inner().receive(deadline);
    if (header) recorder_.count(incoming_, 1);
    return header;
  }
  comm::PolledStream* stream() override {
    comm::PolledStream* const known = inner().stream();
    if (known && !stream_) stream_.emplace(*known, recorder_, outgoing_, incoming_);
    return known ? &*stream_ : nullptr;
  }

 private:
  Recorder& recorder_;
  const int outgoing_, incoming_;
  std::optional<RecordedStream> stream_;
};

}  // namespace tenax::resilience
