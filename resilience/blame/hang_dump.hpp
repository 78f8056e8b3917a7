// HangDump: what the ranks of a run were doing when it stood still. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tenax::resilience {

enum class OperationKind : std::uint8_t {
  pass,
  all_reduce,
  reduce_scatter,
  all_gather,
  send,
  receive,
  broadcast,
  gather,
  sum,
  exchange,
  vote
};
inline constexpr std::array<const char*, 11> kOperationKinds = {
    "pass",   "all_reduce", "reduce_scatter", "all_gather", "send", "receive", "broadcast",
    "gather", "sum",        "exchange",       "vote"};
constexpr const char* name_of(OperationKind kind) { return kOperationKinds[static_cast<std::size_t>(kind)]; }

/// group: collectives of ranks that all come to each; exchange: the same between replicas, of which each step has
/// one; link: messages one way, sent and received; connection: what is under a link or group, where nobody waits.
enum class ChannelKind : std::uint8_t { group, exchange, link, connection };
inline constexpr std::array<const char*, 4> kChannelKinds = {"group", "exchange", "link", "connection"};
constexpr const char* name_of(ChannelKind kind) { return kChannelKinds[static_cast<std::size_t>(kind)]; }

/// running: it may compute or wait; unread: nothing is known of it.
enum class ProcessState : std::uint8_t { running, stopped, gone, unread };
inline constexpr std::array<const char*, 4> kProcessStates = {"running", "stopped", "gone", "unread"};
constexpr const char* name_of(ProcessState state) { return kProcessStates[static_cast<std::size_t>(state)]; }

/// How the thread that trains waits for an operation: not now; it looks now and then whether it has ended; it stands in
/// it.
enum class Attention : std::uint8_t { none, looks, stands };
inline constexpr std::array<const char*, 3> kAttentions = {"none", "looks", "stands"};
constexpr const char* name_of(Attention attention) {
  return kAttentions[static_cast<std::size_t>(attention)];
}

/// One that has begun and not ended.
struct OpenOperation {
  OperationKind kind = OperationKind::pass;
  std::string label;        ///< of a pass: "F3"
  int channel = -1;         ///< none for a pass
  std::int64_t number = 0;  ///< in the channel, from 0
  std::int64_t bytes = 0;
  double seconds = 0;  ///< since it began
  Attention attention = Attention::none;
};

/// A rank's place in a channel.
struct ChannelSeat {
  int rank = 0;                            ///< index of HangDump::ranks
  std::int64_t started = 0, finished = 0;  ///< operations so far
  /// Operations begun since the rank stood one step ago where it stands now, and in the step before that (PeriodCounts);
  /// −1: not known.
  std::int64_t in_period = -1, in_period_before = -1;
};

struct HangDump {
  struct Rank {
    int replica = 0, rank = 0;
    std::string host;
    ProcessState state = ProcessState::running;
    std::int64_t step = 0;
    double stands_s = 0;              ///< since it began or ended anything
    std::vector<OpenOperation> open;  ///< in the order in which they began
  };
  struct Channel {
    std::string name;
    ChannelKind kind = ChannelKind::group;
    std::vector<ChannelSeat> seats;  ///< of a link or connection: sender, receiver
    bool is_one_way() const { return kind == ChannelKind::link || kind == ChannelKind::connection; }
  };
  double time = 0;   ///< UNIX seconds
  int replica = -1;  ///< that stood still; −1: not known
  std::vector<Rank> ranks;
  std::vector<Channel> channels;
};

}  // namespace tenax::resilience
