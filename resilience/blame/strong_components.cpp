#include "resilience/blame/strong_components.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenax::resilience {
namespace {

class ComponentSearch {
 public:
  explicit ComponentSearch(const Successors& next)
      : next_(next), order_(next.size(), kUnseen), low_(next.size(), 0) {
    found_.of_node.assign(next.size(), kUnseen);
  }

  StrongComponents run() && {
    for (std::size_t node = 0; node < next_.size(); ++node)
      if (order_[node] == kUnseen) walk(node);
    return std::move(found_);
  }

 private:
  static constexpr int kUnseen = -1;
  struct Visit {
    std::size_t node = 0, edge = 0;  // the next one to follow
  };

  void enter(std::size_t node) {
    order_[node] = low_[node] = seen_++;
    stack_.push_back(node);
    path_.push_back({node, 0});
  }

  void walk(std::size_t root) {
    enter(root);
    while (!path_.empty()) {
      Visit& visit = path_.back();
      if (visit.edge < next_[visit.node].size())
        follow(visit.node, static_cast<std::size_t>(next_[visit.node][visit.edge++]));
      else
        leave(visit.node);
    }
  }

  void follow(std::size_t from, std::size_t to) {
    if (order_[to] == kUnseen) return enter(to);
    if (found_.of_node[to] == kUnseen) low_[from] = std::min(low_[from], order_[to]);
  }

  void leave(std::size_t node) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
    if (low_[node] != order_[node]) return;
    for (std::size_t last = node + 1; last != node;) {
      last = stack_.back();
      stack_.pop_back();
      found_.of_node[last] = found_.count;
    }
    ++found_.count;
  }

  const Successors& next_;
  std::vector<int> order_, low_;
  std::vector<std::size_t> stack_;
  std::vector<Visit> path_;
  StrongComponents found_;
  int seen_ = 0;
};

}  // namespace

StrongComponents strong_components(const Successors& next) { return ComponentSearch(next).run(); }

}  // namespace tenax::resilience
