#include "resilience/blame/suspicion.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "resilience/blame/peer_lag.hpp"

namespace tenax::resilience {
namespace {

// Evidence of one kind outweighs any amount of the next one.
constexpr double kOmission = 1e12, kWaiting = 1e6;

std::string numbered(OperationKind kind, std::int64_t number, const std::string& channel) {
  return std::string(name_of(kind)) + " " + std::to_string(number) + " of " + channel;
}

std::int64_t change_of(const ChannelSeat& seat) {
  const bool is_known = seat.in_period >= 0 && seat.in_period_before >= 0;
  return is_known ? seat.in_period - seat.in_period_before : 0;
}

void sort_by_strength(std::vector<Suspicion>& suspicions) {
  std::stable_sort(suspicions.begin(), suspicions.end(),
                   [](const Suspicion& a, const Suspicion& b) { return a.strength > b.strength; });
}

bool has_lost(const HangDump::Channel& channel) {
  if (!channel.is_one_way() || channel.seats.size() != 2) return false;
  const ChannelSeat &sender = channel.seats[0], &receiver = channel.seats[1];
  const bool is_asked_for = channel.kind == ChannelKind::connection || receiver.started > receiver.finished;
  return is_asked_for && sender.finished > receiver.finished;
}

}  // namespace

std::vector<Suspicion> LeafSuspicions::of(const std::vector<int>& leaf, int awaited_at) const {
  std::vector<Suspicion> found;
  if (leaf.size() > 1)
    found = of_circle(leaf);
  else if (graph_.is_rank(leaf.front()))
    found = {of_rank(leaf.front(), awaited_at)};
  else
    found = of_stalled(leaf.front());
  sort_by_strength(found);
  return found;
}

const OpenOperation* LeafSuspicions::open_at(int rank, const WaitPoint& point) const {
  const auto& open = dump_.ranks[static_cast<std::size_t>(rank)].open;
  const auto found = std::find_if(open.begin(), open.end(), [&](const OpenOperation& operation) {
    return operation.channel == point.channel && operation.number == point.number;
  });
  return found == open.end() ? nullptr : &*found;
}

std::string LeafSuspicions::name_of_point(int node) const {
  const WaitPoint& point = graph_.point(node);
  for (const ChannelSeat& seat : channel_of(point).seats)
    if (const OpenOperation* const open = open_at(seat.rank, point))
      return numbered(open->kind, point.number, channel_of(point).name);
  return channel_of(point).name;
}

// It waits for nobody.
Suspicion LeafSuspicions::of_rank(int rank, int awaited_at) const {
  const HangDump::Rank& who = dump_.ranks[static_cast<std::size_t>(rank)];
  const OpenOperation* const inner = innermost(who);
  const std::string missed = awaited_at < 0 ? "" : "has not come to " + name_of_point(awaited_at);
  std::string at;
  if (inner)
    at = inner->channel < 0
             ? "pass " + inner->label
             : numbered(inner->kind, inner->number, channel_of({inner->channel, inner->number}).name);
  switch (graph_.doing[static_cast<std::size_t>(rank)]) {
    case Doing::stopped:
      return {rank, "its process is stopped" + (at.empty() ? at : ", in " + at), 0};
    case Doing::gone:
      return {rank, "its process has gone", 0};
    case Doing::unread:
      return {rank, "its recorder cannot be read", 0};
    case Doing::computes:
      return {rank, at + " does not end", 0};
    default:
      return {rank, missed.empty() ? "does nothing that is recorded" : missed, 0};
  }
}

// All have come, and nobody does anything else.
std::vector<Suspicion> LeafSuspicions::of_stalled(int point) const {
  std::vector<Suspicion> found = of_differing(point);
  if (found.empty()) found = of_lost_messages(point);
  if (!found.empty()) return found;
  for (const ChannelSeat& seat : channel_of(graph_.point(point)).seats)
    if (seat.finished <= graph_.point(point).number)
      found.push_back({.rank = seat.rank,
                       .operation = name_of_point(point) + " does not advance",
                       .strength = dump_.ranks[static_cast<std::size_t>(seat.rank)].stands_s,
                       .is_guess = true});
  return found;
}

// A rank that left one out takes the next one for it. Fewer differ than agree; of two, the one that is ahead elsewhere.
std::vector<Suspicion> LeafSuspicions::of_differing(int point) const {
  const WaitPoint& at = graph_.point(point);
  if (channel_of(at).is_one_way()) return {};
  std::map<std::pair<OperationKind, std::int64_t>, std::vector<int>> by_signature;
  for (const ChannelSeat& seat : channel_of(at).seats)
    if (const OpenOperation* const open = open_at(seat.rank, at))
      by_signature[{open->kind, open->bytes}].push_back(seat.rank);
  if (by_signature.size() < 2) return {};
  std::map<int, std::int64_t> ahead;
  for (const HangDump::Channel& channel : dump_.channels)
    for (const ChannelSeat& seat : channel.seats) ahead[seat.rank] += change_of(seat);
  std::vector<Suspicion> found;
  for (const auto& [signature, ranks] : by_signature)
    for (const int rank : ranks)
      found.push_back({rank,
                       numbered(signature.first, at.number, channel_of(at).name) + " with " +
                           std::to_string(signature.second) + " bytes, unlike the others",
                       -kWaiting * static_cast<double>(ranks.size()) + static_cast<double>(ahead[rank])});
  return found;
}

// Sender and receiver told apart by what both have recorded.
std::vector<Suspicion> LeafSuspicions::of_lost_messages(int point) const {
  std::vector<char> is_in(dump_.ranks.size(), 0);
  for (const ChannelSeat& seat : channel_of(graph_.point(point)).seats)
    is_in[static_cast<std::size_t>(seat.rank)] = 1;
  std::vector<Suspicion> found;
  for (const HangDump::Channel& channel : dump_.channels) {
    if (!has_lost(channel)) continue;
    const ChannelSeat &sender = channel.seats[0], &receiver = channel.seats[1];
    if (!is_in[static_cast<std::size_t>(sender.rank)] || !is_in[static_cast<std::size_t>(receiver.rank)])
      continue;
    const auto replica_of = [&](int rank) { return dump_.ranks[static_cast<std::size_t>(rank)].replica; };
    const bool is_between =
        replica_of(sender.rank) != replica_of(receiver.rank);  // which notice silence themselves
    const std::string lost = numbered(OperationKind::send, receiver.finished, channel.name);
    const auto count = static_cast<double>(sender.finished - receiver.finished);
    found.push_back({sender.rank, lost + " has left and not arrived", kWaiting + count, is_between});
    found.push_back({receiver.rank, lost + " has left and not arrived", count, is_between});
  }
  return found;
}

// Ranks that wait for each other do not agree on the order of operations. Who has left one out did one less than in the
// step before, and than the others that stand where it stands; steps are not all alike, and neither are programs, so
// that both count. Else: for whom most wait, and have waited longest.
std::vector<Suspicion> LeafSuspicions::of_circle(const std::vector<int>& leaf) const {
  const PeerLag lag(dump_);
  std::vector<Suspicion> found;
  for (const int node : leaf) {
    if (graph_.is_rank(node)) continue;
    const WaitPoint& at = graph_.point(node);
    const double waited = waited_for(at);
    const std::string left_out = name_of_point(node) + " was left out";
    for (const ChannelSeat& seat : channel_of(at).seats) {
      if (seat.started > at.number) continue;
      const auto missing = static_cast<double>(-std::min<std::int64_t>(change_of(seat), 0));
      found.push_back({seat.rank, left_out, kOmission * (missing + lag.of(seat.rank, at.channel)) + waited});
    }
  }
  return found;
}

double LeafSuspicions::waited_for(const WaitPoint& point) const {
  double waited = 0, oldest_s = 0;
  for (const ChannelSeat& seat : channel_of(point).seats)
    if (const OpenOperation* const open = open_at(seat.rank, point)) {
      waited += kWaiting;
      oldest_s = std::max(oldest_s, open->seconds);
    }
  return waited + oldest_s;
}

}  // namespace tenax::resilience
