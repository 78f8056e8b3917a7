// What a FailoverLink keeps of each message, and the small messages it exchanges with its other end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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
  TransferPtr inner;            ///< on the path it is on now; null while that is unknown
  bool was_direct = false;      ///< outgoing: given to the direct path first
  double sent_s = 0;            ///< outgoing: when
  RetransmitBuffer retransmit;  ///< then its bytes, until acknowledged; none where there is no data
  TransferPtr
      cancelled;  ///< outgoing: on the direct path when that was given up; may read `retransmit` to its end
  bool complete = false;      ///< incoming: here; outgoing: its memory is free
  bool acknowledged = false;  ///< outgoing: the peer has it
  bool is_relied_on =
      false;  ///< incoming: a stream waits for it, where what comes after it is launched already
  TransferTiming timing;
};

/// Acknowledgements (tag t: "message t is here") and notices (tag `tags`: "I have left the direct path, and these are
/// here") over the control link.
class ControlMessages {
 public:
  ControlMessages(Link& link, Tag tags);

  void expect_acknowledgement(Tag tag);
  bool acknowledged(Tag tag);
  void acknowledge(Tag tag);

  /// `here`: one word per tag, for the other end alone to understand.
  void notify(std::uint64_t iteration, const std::vector<std::int32_t>& here);
  /// The peer's notice of this iteration, once. Older ones are dropped: their iteration ended well. Later ones wait for theirs.
  std::optional<std::vector<std::int32_t>> notice(std::uint64_t iteration);
  /// Frees what has been sent; false while some is still under way.
  bool flush();

 private:
  struct Outgoing {
    std::vector<std::int32_t> words;
    TransferPtr transfer;
  };
  void post_notice();
  void send(std::vector<std::int32_t> words, Tag tag);

  Link& link_;
  Tag tags_;
  HostStream stream_;
  std::vector<std::int32_t> acknowledgement_words_;  // one per tag, to be received into
  std::vector<TransferPtr> acknowledgements_;        // per tag; null = none expected
  std::vector<std::int32_t> notice_words_;
  TransferPtr notice_;
  std::deque<std::vector<std::int32_t>> notices_;  // that came
  std::vector<Outgoing> outgoing_;
};

}  // namespace tenax::comm
