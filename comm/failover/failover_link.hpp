// FailoverLink: a pipeline's link to one neighbour: direct while that is healthy, delegated while it is slow, and when the
// direct path breaks in mid-iteration, delegated from the message that is missing on (PipeMorph, NSDI 2026, section 5.3).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/failover/failover_messages.hpp"
#include "comm/link.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

enum class Path { direct, delegated };

/// How many of an iteration's messages arrived at this end, by the way they came.
struct Arrivals {
  int direct = 0, delegated = 0;
};

struct FailoverOptions {
  Tag tags = 0;            ///< an iteration uses tags 0 … tags − 1, each at most once per direction
  double deadline_s = 60;  ///< for the peer to join a failover
  /// Memory that is taken at once, for the bytes of as many messages as are under way in general. More is taken when needed.
  std::size_t message_bytes = 0;
  int retransmit_buffers = 0;
};

/// An *iteration* is what lies between two calls of finish_iteration, which both ends make alike. Within it each message is
/// acknowledged over `control`, and its bytes are kept until then. When a direct transfer throws or misses its deadline at
/// one end, that end tells the other what it has received; both give the direct path up, what the other lacks is sent again
/// over delegates, and so is the rest. So nothing is lost, doubled or reordered.
///
/// On an asynchronous device a stream may wait for a direct message itself (Transfer::orders_without_blocking). When the path
/// breaks then, the stream goes on with whatever is there: the message comes all the same, but too late, and the iteration
/// is void (is_void): both ends bring it to its end, and run it again.
///
/// Thread rule: Link's.
class FailoverLink final : public Link {
 public:
  /// Called by both ends at the same time, when delegates are first needed.
  using MakeDelegated = std::function<std::unique_ptr<DelegatedLink>()>;

  /// `control` carries small host messages to the same peer, reliably and on another way (tags 0 … options.tags are this
  /// link's). All references must outlive it.
  FailoverLink(Link& direct, Link& control, MakeDelegated make_delegated, kernels::Device& device,
               FailoverOptions options);
  ~FailoverLink() override;

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  Signal* signal() override;
  std::string describe() const override { return direct_->describe(); }

  /// Between iterations, both ends alike. `delegates`: threads per direction (delegated alone).
  void set_path(Path path, int delegates);
  /// The way that the next iteration's first messages go.
  Path path() const { return path_; }
  /// Between iterations: the direct path was built anew.
  void set_direct(Link& direct);
  /// Whether `direct` must live on: it is the direct path, or may have been that of sends that have not ended.
  bool uses(const Link& direct) const { return direct_ == &direct || !cancelled_sends_.empty(); }
  /// Returns when the peer has all messages of this iteration and this end its own. Throws Error(link) on expiry.
  void finish_iteration();
  /// Between iterations: nothing reads the memory of earlier sends any more once it returns.
  void release_memory();
  /// Why the direct path was given up; empty if it was not. It is not used again before the next set_path, which decides.
  const std::string& failure() const { return failure_; }
  /// Of a failure: the direct path itself is to blame, as this end knows: it reported an error, or a message that this end had
  /// sent and the other end waited for was not there. Where neither end says so, a message was waited for that had not been
  /// sent, as its sender waited for another link in turn.
  bool direct_path_broke() const { return direct_path_broke_; }
  /// Whether something may have been computed in the last iteration before its message had come.
  bool is_void() const { return was_void_; }
  /// Of the last iteration; once the direct path has failed, of the one in which it did.
  const Arrivals& arrivals() const { return delivered_; }

 private:
  friend class FailoverTransfer;
  using Messages = std::vector<std::shared_ptr<FailoverMessage>>;
  enum class State {
    direct,
    failing_over,
    failed_over
  };  // failing_over: told the peer, who has not answered yet

  bool poll(FailoverMessage& message);
  bool poll_inner(FailoverMessage& message);
  void start(FailoverMessage& message);
  void copy_for_resending(FailoverMessage& message);
  bool orders_without_blocking(const FailoverMessage& message) const;
  bool order(FailoverMessage& message, kernels::Stream& stream, kernels::Deadline deadline);
  void cancel(FailoverMessage& message) noexcept;
  bool acknowledged(FailoverMessage& message);
  bool is_free(const FailoverMessage& message) const;
  void note_arrival(const FailoverMessage& message);
  void hear_peer();  // hears the peer
  void fail_over_again();
  void fail_over(const std::string& reason);
  void fail_over_for(const kernels::Error& error);
  std::vector<std::int32_t> receipts() const;
  void cancel_direct();
  void complete_failover(const std::vector<std::int32_t>& here);
  void resend(FailoverMessage& message, std::int32_t there);
  void make_delegated();
  bool all_here();
  void drop_cancelled_sends();
  void end_iteration();

  Link* direct_ = nullptr;
  MakeDelegated make_;
  FailoverOptions options_;
  RetransmitPool pool_;
  ControlMessages control_;
  Signal signal_;
  std::unique_ptr<DelegatedLink> delegated_;
  Path path_ = Path::direct;
  State state_ = State::direct;
  std::string failure_;
  bool direct_path_broke_ = false;
  std::uint64_t iteration_ = 0;
  Arrivals arrived_, delivered_;             // in this iteration, in one that has ended
  bool arrivals_are_final_ = false;          // delivered_ is to stay
  bool is_void_ = false, was_void_ = false;  // this iteration, the last one
  Messages sent_, received_;                 // of this iteration
  Messages
      cancelled_sends_;  // direct sends that have not ended since they were cancelled, with the bytes that they read
  std::vector<TransferPtr>
      lingering_;  // delegated sends that the peer has, which their delegates do not know yet
};

}  // namespace tenax::comm
