// PeerSocket: the TCP socket of a connection's handshake, which stays open beside it. A queue pair
// learns nothing of the other end's death; the socket does.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "comm/transport/socket.hpp"
#include "comm/verbs/peer_notice.hpp"

namespace tenax::comm::verbs {

/// Thread rule: any thread. Its silence proves nothing once the connection is in use: RDMA may take another path.
class PeerSocket {
 public:
  enum class State {
    open,
    closing,  ///< the other end has said goodbye: goodbye_frames() have been written, and no more will be
    gone      ///< without a goodbye
  };
  /// What the other end says besides its goodbye; called by look(), without locks held.
  using OnNotice = std::function<void(const PeerNotice&)>;

  /// Throws Error(link) where there is no descriptor to wake sleepers by.
  PeerSocket(std::string where, OnNotice on_notice);
  /// When the handshake is over, before other threads use it. Until then the other end is there.
  void attach(FileDescriptor socket);
  /// The connection is in use: its queue pairs notice when the other end's host is gone. Before, only the socket does.
  void begin() noexcept;

  /// Reads what has come.
  State look();
  /// As the last look found it.
  State state() const { return state_; }
  bool has_said_goodbye() const { return state_ == State::closing; }
  std::uint64_t goodbye_frames() const { return goodbye_frames_; }
  /// Nobody is told where the other end has left already.
  void tell(const PeerNotice& notice) noexcept;

  /// Wakes all sleepers, here and at the other end, now and for ever.
  void shut_down() noexcept;
  bool is_shut_down() const { return is_shut_down_; }

  /// Sleeps until one of the channels (-1: none) is readable, the other end says something or
  /// leaves, somebody shuts down, or the deadline comes.
  void sleep(std::initializer_list<int> channels, kernels::Deadline deadline) const;
  /// What to poll besides for the other end's words and for a shut-down.
  void add_to(std::vector<pollfd>& polled) const;

  int socket() const { return socket_.get(); }
  const std::string& where() const { return where_; }

 private:
  bool read_some();
  std::optional<PeerNotice> next_notice();

  FileDescriptor socket_, wake_up_;
  const std::string where_;
  const OnNotice on_notice_;
  std::mutex reading_, telling_;
  std::atomic<State> state_{State::open};
  std::atomic<std::uint64_t> goodbye_frames_{0};
  std::atomic<bool> is_shut_down_{false};
  PeerNotice::Bytes incoming_{};  // a notice, of which the first incoming_bytes_ are here
  std::size_t incoming_bytes_ = 0;
};

}  // namespace tenax::comm::verbs
