// DirectLink: one neighbour of an emulated direct endpoint: its connection, the thread that reads
// it, and what becomes of both when it breaks.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/emulated/outlet.hpp"
#include "comm/failure.hpp"
#include "comm/inbox/inbox.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

class DirectLink final : public Link {
 public:
  struct Settings {
    std::string me, peer;  ///< for errors
    double link_gbps = 0, deadline_s = 60;
  };

  /// References must outlive the link. The outlet must have been drained before the link's end.
  DirectLink(std::unique_ptr<Connection> connection, kernels::Device& device, Signal& signal, Outlet& outlet,
             Settings settings);
  ~DirectLink() override;

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  Signal* signal() override { return &signal_; }
  std::string describe() const override { return settings_.me + " - " + settings_.peer; }

  /// For the outlet's thread: puts the message on the wire and waits until its transmission has
  /// ended; at once when the link has failed. Returns when that should have been. Never throws: a
  /// failure becomes the link's.
  double transmit(Outgoing& message);
  /// For the outlet: throws the Error(link) of a message that found no place in time.
  [[noreturn]] void throw_timed_out(const MessageHeader& header, double waited_s) const;
  /// From any thread: this link is broken; the first reason counts.
  void fail(std::exception_ptr error);
  /// Throws what fail() was told, if it was.
  void check();
  bool failed();

 private:
  void read();

  std::unique_ptr<Connection> connection_;
  kernels::Device& device_;
  Signal& signal_;
  Outlet& outlet_;
  Settings settings_;
  Inbox inbox_;
  std::map<Tag, std::uint64_t> sent_;  ///< messages of each tag
  std::mutex mutex_;
  std::optional<Failure> failure_;
  std::atomic<bool> closing_{false};
  std::thread reader_;  ///< after what it uses
};

}  // namespace tenax::comm
