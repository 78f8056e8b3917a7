// FailoverLink: a pipeline's link to one neighbour. It is direct while that path is healthy, delegated
// while it is slow, and when the direct path breaks in mid-iteration, delegated from the missing message
// on (PipeMorph, NSDI 2026, section 5.3).
//
//   DIRECT <--------- set_path(), between iterations: adaptation decides --------> DELEGATED
//     |                                                                              ^
//     |  a direct transfer throws or misses its deadline,                            | set_path(),
//     |  or the peer's notice comes                                                  | after the
//     v                                                                              | iteration
//   FAILING OVER ------------- the peer's notice is here ------------------> FAILED OVER
//     notice sent, direct transfers cancelled,                missing messages are received again,
//     new messages wait                                       the peer's missing ones are resent,
//     |                                                       all others are delegated
//     +--> DIRECT, if the iteration ends first: the peer lacked nothing. FAILING OVER again at the
//          next message, unless set_path() comes before.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/delegates/delegated_link.hpp"
#include "comm/failover/earlier_sends.hpp"
#include "comm/failover/failover_exchange.hpp"
#include "comm/failover/retransmit_buffer.hpp"
#include "comm/link.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

enum class Path { direct, delegated };

/// How many messages of an iteration arrived at this end on each path.
struct Arrivals {
  int direct = 0, delegated = 0;
};

struct FailoverOptions {
  Tag tags = 0;            ///< an iteration uses tags 0 … tags − 1, each at most once per direction
  double deadline_s = 60;  ///< for the peer to join a failover
  /// Memory for the bytes of as many messages is taken at once, more when it is needed.
  std::size_t message_bytes = 0;
  int retransmit_buffers = 0;
};

/// An *iteration* lies between two calls of finish_iteration, which both ends make alike. Within it
/// each message is acknowledged over `control`; its bytes are kept until then. When a direct
/// transfer throws or misses its deadline at one end, that end tells the other which messages it
/// has received. Both cancel the direct path, resend what the other lacks over delegates, and go on
/// there. Nothing is lost, doubled or reordered.
///
/// On an asynchronous device a stream may wait for a direct message itself
/// (Transfer::orders_without_blocking). If the path breaks then, the stream goes on with whatever
/// its memory holds. The message still comes, but too late, and the iteration is void (is_void):
/// both ends bring it to its end, and run it again.
///
/// Thread rule: Link's.
class FailoverLink final : public Link {
 public:
  /// Called by both ends at the same time, when delegates are first needed.
  using MakeDelegated = std::function<std::unique_ptr<DelegatedLink>()>;

  /// `control` carries small host messages to the same peer, reliably and on another way. Its tags
  /// 0 … options.tags belong to this link. All references must outlive the link.
  FailoverLink(Link& direct, Link& control, MakeDelegated make_delegated, kernels::Device& device,
               FailoverOptions options);
  ~FailoverLink() override;

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  Signal* signal() override;
  std::string describe() const override { return direct_->describe(); }

  /// Between iterations, both ends alike. `delegates`: threads per direction, of a delegated path
  /// alone.
  void set_path(Path path, int delegates);
  /// The path of the next iteration's first messages.
  Path path() const { return path_; }
  /// Between iterations: the direct path was built anew.
  void set_direct(Link& direct);
  /// Whether `direct` must live on: it is the direct path, or cancelled sends may still run on it.
  bool uses(const Link& direct) const { return direct_ == &direct || earlier_.use_direct_path(); }
  /// Returns when each end has all messages of this iteration. Throws Error(link) on expiry.
  void finish_iteration();
  /// Between iterations: on return nothing reads the memory of earlier sends any more.
  void release_memory() { earlier_.wait(options_.deadline_s); }
  /// Why the direct path was cancelled; empty if it was not. Only set_path decides that it is used
  /// again.
  const std::string& failure() const { return exchange_.failure(); }
  /// After a failure: whether this end knows that the direct path itself broke. It knows if the
  /// path reported an error, or if the peer lacks a message that this end had sent long before. If
  /// neither end knows, the missing message had not been sent yet: its sender waited for another
  /// link.
  bool direct_path_broke() const { return direct_path_broke_; }
  /// Whether the last iteration may have computed with a message before it had come.
  bool is_void() const { return last_is_void_; }
  /// The arrivals of the last iteration; after a failure of the direct path, those of the iteration
  /// in which it failed.
  const Arrivals& arrivals() const { return last_arrivals_; }

 private:
  friend class FailoverTransfer;
  using State = FailoverExchange::State;

  TransferPtr add(std::shared_ptr<FailoverMessage> message, FailoverMessages& messages);
  void start(FailoverMessage& message);
  void copy_for_resending(FailoverMessage& message);
  bool poll(FailoverMessage& message);
  bool poll_inner(FailoverMessage& message);
  bool acknowledged(FailoverMessage& message);
  bool is_free(const FailoverMessage& message) const;
  void count_arrival(const FailoverMessage& message);
  bool has_direct_path() const { return path_ == Path::direct && exchange_.state() == State::direct; }

  void poll_peer();
  void fail_over_again();
  void fail_over_or_rethrow(const kernels::Error& error);
  void fail_over(const std::string& reason);
  void cancel_direct();
  void complete_failover(const std::vector<Receipt>& receipts);
  void resend(FailoverMessage& message, Receipt receipt);
  void make_delegated();

  bool all_here();
  void end_iteration();

  Link* direct_ = nullptr;
  MakeDelegated make_;
  FailoverOptions options_;
  RetransmitPool pool_;
  FailoverExchange exchange_;
  Signal signal_;
  std::unique_ptr<DelegatedLink> delegated_;
  Path path_ = Path::direct;
  bool direct_path_broke_ = false;
  Arrivals arrivals_, last_arrivals_;
  bool last_arrivals_are_final_ = false;  // they are a failed iteration's, until set_path
  bool is_void_ = false, last_is_void_ = false;
  FailoverMessages sent_, received_;  // all messages of this iteration
  EarlierSends earlier_;
};

}  // namespace tenax::comm
