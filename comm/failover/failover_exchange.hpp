// FailoverExchange: what the two ends of a failover link tell each other over the control plane,
// and the state that each end is in.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/failover/retransmit_buffer.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

/// One message of the current iteration, at either end.
struct FailoverMessage {
  bool outgoing = false;
  Tag tag = 0;
  kernels::Tensor tensor;
  kernels::Stream* stream = nullptr;
  TransferPtr inner;            ///< on its present path; null before it has one
  bool was_direct = false;      ///< outgoing: it was given to the direct path first
  double sent_s = 0;            ///< outgoing: when
  RetransmitBuffer retransmit;  ///< a direct send's bytes, until it is acknowledged
  TransferPtr cancelled;        ///< outgoing: a direct send that may still read `retransmit`
  bool complete = false;        ///< incoming: it has arrived; outgoing: its memory is free
  bool acknowledged = false;    ///< outgoing: the peer has it
  bool is_relied_on = false;    ///< incoming: later operations are launched already and wait for it
  TransferTiming timing;
};
using FailoverMessages = std::vector<std::shared_ptr<FailoverMessage>>;

/// What an end that fails over reports of the message of a tag.
enum class Receipt : std::int32_t { not_expected, received, missing };

/// Acknowledgements travel with tag t ("message t has arrived"), notices with tag `tags` ("I have
/// cancelled the direct path, and these messages have arrived").
///
/// Thread rule: one thread.
class FailoverExchange {
 public:
  /// direct: no failover in this iteration. failing_over: this end has sent its notice and waits
  /// for the peer's. failed_over: both notices are known.
  enum class State { direct, failing_over, failed_over };

  /// `control` must outlive it.
  FailoverExchange(Link& control, Tag tags);

  State state() const { return state_; }
  /// Why the direct path was cancelled; empty if it was not. Survives the iteration, until reset().
  const std::string& failure() const { return failure_; }

  void expect_acknowledgement(Tag tag);
  bool acknowledged(Tag tag);
  void acknowledge(Tag tag);

  /// direct -> failing_over: sends this end's notice about the messages it `received`.
  void begin(const std::string& reason, const FailoverMessages& received);
  /// The peer's receipts by tag, once its notice of this iteration has come. Where this end has
  /// failed over already, it answers with a notice of its own instead.
  std::optional<std::vector<Receipt>> poll(const FailoverMessages& received);
  /// failing_over -> failed_over.
  void complete() { state_ = State::failed_over; }

  /// An end whose peer had finished the iteration without a notice is back in the state direct.
  void end_iteration();
  /// Between iterations: state direct, no failure.
  void reset();
  /// Frees what has been sent; false while some is under way.
  bool flush();

 private:
  struct Outgoing {
    std::vector<std::int32_t> words;
    TransferPtr transfer;
  };
  void post_notice();
  void send_notice(const FailoverMessages& received);
  std::optional<std::vector<Receipt>> take_notice();
  void send(std::vector<std::int32_t> words, Tag tag);

  Link& link_;
  const Tag tags_;
  State state_ = State::direct;
  std::string failure_;
  std::uint64_t iteration_ = 0;
  HostStream stream_;
  std::vector<std::int32_t> acknowledgement_words_;  // one per tag, to be received into
  std::vector<TransferPtr> acknowledgements_;        // per tag; null = none expected
  std::vector<std::int32_t> notice_words_;
  TransferPtr notice_;
  std::deque<std::vector<std::int32_t>> notices_;  // that came
  std::vector<Outgoing> outgoing_;
};

}  // namespace tenax::comm
