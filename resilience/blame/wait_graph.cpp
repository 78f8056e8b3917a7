#include "resilience/blame/wait_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tenax::resilience {
namespace {

bool is_looked_at(const OpenOperation& operation) { return operation.attention == Attention::looks; }
bool is_pass(const OpenOperation& operation) { return operation.kind == OperationKind::pass; }

Doing doing_of(const HangDump::Rank& rank) {
  if (rank.state == ProcessState::stopped) return Doing::stopped;
  if (rank.state == ProcessState::gone) return Doing::gone;
  if (rank.state == ProcessState::unread) return Doing::unread;
  const OpenOperation* const inner = innermost(rank);
  if (inner) return is_pass(*inner) ? Doing::computes : Doing::waits;
  return std::any_of(rank.open.begin(), rank.open.end(), is_looked_at) ? Doing::waits : Doing::idle;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const HangDump& dump) : dump_(dump) {
    for (const HangDump::Rank& rank : dump.ranks) graph_.doing.push_back(doing_of(rank));
    graph_.next.resize(dump.ranks.size());
  }

  WaitGraph build() && {
    for (std::size_t rank = 0; rank < dump_.ranks.size(); ++rank)
      if (graph_.doing[rank] == Doing::waits) add_waits(rank);
    for (std::size_t i = 0; i < graph_.points.size(); ++i) add_awaited(i);
    return std::move(graph_);
  }

 private:
  // One that stands in an operation waits for that alone; one that looks at several, for all of them.
  void add_waits(std::size_t rank) {
    const HangDump::Rank& who = dump_.ranks[rank];
    if (const OpenOperation* const inner = innermost(who)) return add_wait(rank, *inner);
    for (const OpenOperation& operation : who.open)
      if (is_looked_at(operation)) add_wait(rank, operation);
  }

  void add_wait(std::size_t rank, const OpenOperation& operation) {
    const WaitPoint point{operation.channel, operation.number};
    const auto [entry, is_new] =
        node_of_point_.try_emplace({point.channel, point.number}, static_cast<int>(graph_.next.size()));
    if (is_new) {
      graph_.points.push_back(point);
      graph_.next.emplace_back();
    }
    auto& waits = graph_.next[rank];
    if (std::find(waits.begin(), waits.end(), entry->second) == waits.end()) waits.push_back(entry->second);
  }

  void add_awaited(std::size_t i) {
    const WaitPoint point = graph_.points[i];
    const auto& seats = dump_.channels[static_cast<std::size_t>(point.channel)].seats;
    auto& awaited = graph_.next[dump_.ranks.size() + i];
    for (const ChannelSeat& seat : seats)
      if (seat.started <= point.number) awaited.push_back(seat.rank);
    if (!awaited.empty()) return;
    for (const ChannelSeat& seat : seats)
      if (seat.finished <= point.number && graph_.doing[static_cast<std::size_t>(seat.rank)] != Doing::waits)
        awaited.push_back(seat.rank);
  }

  const HangDump& dump_;
  WaitGraph graph_;
  std::map<std::pair<int, std::int64_t>, int> node_of_point_;
};

}  // namespace

const OpenOperation* innermost(const HangDump::Rank& rank) {
  const auto inner = std::find_if(rank.open.rbegin(), rank.open.rend(), [](const OpenOperation& operation) {
    return operation.attention == Attention::stands || is_pass(operation);
  });
  return inner == rank.open.rend() ? nullptr : &*inner;
}

const OpenOperation* awaited(const HangDump::Rank& rank) {
  const OpenOperation* const inner = innermost(rank);
  if (inner) return is_pass(*inner) ? nullptr : inner;
  const auto looked_at = std::find_if(rank.open.begin(), rank.open.end(), is_looked_at);
  return looked_at == rank.open.end() ? nullptr : &*looked_at;
}

bool some_idle(const HangDump& dump) {
  return std::any_of(dump.ranks.begin(), dump.ranks.end(), [](const HangDump::Rank& rank) {
    return !rank.open.empty() && doing_of(rank) == Doing::idle;
  });
}

WaitGraph wait_graph(const HangDump& dump) { return GraphBuilder(dump).build(); }

}  // namespace tenax::resilience
