#include "resilience/blame/culprits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "resilience/blame/suspicion.hpp"

namespace tenax::resilience {
namespace {

/// What stood still later than half of the hang ago may be slow, and moving.
constexpr double kMoving = 0.5;
/// Of so many leaves it is counted exactly who waits for them.
constexpr std::size_t kMostCounted = 64;

struct Leaf {
  std::vector<int> nodes;
  int direct = 0;       // edges that lead to it
  int waiting = 0;      // ranks from which it is reached
  int awaited_at = -1;  // a node that leads to it
  int rank_class = 1;
  double stands_s = 0;
  bool moves = false;
};

class LeafSearch {
 public:
  explicit LeafSearch(const HangDump& dump)
      : dump_(dump), graph_(wait_graph(dump)), suspicions_(dump, graph_) {}

  Blame run() {
    find_leaves();
    for (const HangDump::Rank& rank : dump_.ranks) longest_s_ = std::max(longest_s_, rank.stands_s);
    count_waiting();
    for (Leaf& leaf : leaves_) judge(leaf);
    std::stable_sort(leaves_.begin(), leaves_.end(),
                     [](const Leaf& a, const Leaf& b) { return key(a) < key(b); });
    return blame();
  }

 private:
  static std::tuple<bool, int, int, double> key(const Leaf& leaf) {
    return {leaf.moves, leaf.rank_class, -leaf.waiting, -leaf.stands_s};
  }

  void find_leaves() {
    const StrongComponents parts = strong_components(graph_.next);
    std::vector<Leaf> all(static_cast<std::size_t>(parts.count));
    std::vector<char> is_left(all.size(), 0);
    const auto part_of = [&](int node) {
      return static_cast<std::size_t>(parts.of_node[static_cast<std::size_t>(node)]);
    };
    for (int node = 0; node < static_cast<int>(graph_.next.size()); ++node) {
      all[part_of(node)].nodes.push_back(node);
      for (const int to : graph_.next[static_cast<std::size_t>(node)]) {
        if (part_of(to) == part_of(node)) continue;
        is_left[part_of(node)] = 1;
        ++all[part_of(to)].direct;
        all[part_of(to)].awaited_at = node;
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!is_left[i] && (all[i].direct > 0 || all[i].nodes.size() > 1)) leaves_.push_back(std::move(all[i]));
  }

  void count_waiting() {
    std::stable_sort(leaves_.begin(), leaves_.end(),
                     [](const Leaf& a, const Leaf& b) { return a.direct > b.direct; });
    Successors before(graph_.next.size());
    for (std::size_t node = 0; node < graph_.next.size(); ++node)
      for (const int to : graph_.next[node])
        before[static_cast<std::size_t>(to)].push_back(static_cast<int>(node));
    for (std::size_t i = 0; i < leaves_.size() && i < kMostCounted; ++i)
      leaves_[i].waiting = ranks_leading_to(leaves_[i], before);
  }

  int ranks_leading_to(const Leaf& leaf, const Successors& before) const {
    std::vector<char> is_seen(before.size(), 0);
    std::vector<int> open = leaf.nodes;
    for (const int node : open) is_seen[static_cast<std::size_t>(node)] = 1;
    int ranks = 0;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (graph_.is_rank(node)) ++ranks;
      for (const int from : before[static_cast<std::size_t>(node)])
        if (!std::exchange(is_seen[static_cast<std::size_t>(from)], char{1})) open.push_back(from);
    }
    return ranks - 1;  // the culprit itself, or one of them
  }

  void judge(Leaf& leaf) const {
    const int node = leaf.nodes.front();
    if (leaf.nodes.size() > 1 || !graph_.is_rank(node)) {
      leaf.stands_s = longest_s_;
      return;
    }
    const Doing doing = graph_.doing[static_cast<std::size_t>(node)];
    leaf.stands_s = dump_.ranks[static_cast<std::size_t>(node)].stands_s;
    if (doing == Doing::stopped || doing == Doing::gone) leaf.rank_class = 0;
    if (doing == Doing::unread) leaf.rank_class = 2;
    leaf.moves = leaf.rank_class == 1 && leaf.stands_s < kMoving * longest_s_;
  }

  // A rank is named once.
  Blame blame() const {
    Blame blame;
    for (const Leaf& leaf : leaves_)
      for (Suspicion& suspicion : suspicions_.of(leaf.nodes, leaf.awaited_at)) {
        const bool is_named = std::any_of(blame.culprits.begin(), blame.culprits.end(),
                                          [&](const Culprit& known) { return known.rank == suspicion.rank; });
        if (is_named) continue;
        if (blame.culprits.size() == Blame::kMost) return blame;
        if (blame.culprits.empty()) describe(leaf, suspicion, blame);
        blame.culprits.push_back(
            {suspicion.rank, std::move(suspicion.operation), leaf.waiting, suspicion.is_guess});
      }
    return blame;
  }

  void describe(const Leaf& leaf, const Suspicion& first, Blame& blame) const {
    const auto point =
        std::find_if(leaf.nodes.begin(), leaf.nodes.end(), [&](int node) { return !graph_.is_rank(node); });
    blame.operation = point != leaf.nodes.end() ? suspicions_.name_of_point(*point)
                      : leaf.awaited_at >= 0    ? suspicions_.name_of_point(leaf.awaited_at)
                                                : first.operation;
    blame.seconds = dump_.ranks[static_cast<std::size_t>(first.rank)].stands_s;
  }

  const HangDump& dump_;
  const WaitGraph graph_;
  const LeafSuspicions suspicions_;
  std::vector<Leaf> leaves_;
  double longest_s_ = 0;
};

}  // namespace

Blame find_culprits(const HangDump& dump) { return LeafSearch(dump).run(); }

}  // namespace tenax::resilience
