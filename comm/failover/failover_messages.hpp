// What a FailoverLink keeps of each message, and the small messages it exchanges with its other end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/host_stream.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

/// One message of the current iteration, at either end.
struct FailoverMessage {
  bool outgoing = false;
  Tag tag = 0;
  kernels::Tensor tensor;
  kernels::Stream* stream = nullptr;
  TransferPtr inner;                      ///< on the path it is on now; null while that is unknown
  std::unique_ptr<kernels::Buffer> kept;  ///< outgoing, direct: its bytes, until acknowledged
  TransferPtr abandoned;  ///< outgoing: on the direct path when that was given up; may read `kept` to its end
  bool complete = false;  ///< incoming: here; outgoing: its memory is free
  bool acknowledged = false;  ///< outgoing: the peer has it
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

  /// `here`: one word per tag, 1 = that message has arrived.
  void notify(std::uint64_t iteration, const std::vector<std::int32_t>& here);
  /// The peer's notice of this iteration, once. Older ones are dropped: their iteration ended well.
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
  std::vector<Outgoing> outgoing_;
};

}  // namespace tenax::comm
