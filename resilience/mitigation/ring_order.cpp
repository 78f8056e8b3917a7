#include "resilience/mitigation/ring_order.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {
namespace {

constexpr int kMostTrials = 100'000;

/// Cuts the ring into segments, always at slow links and at as few others as suffice, and joins them anew.
class RingSearch {
 public:
  RingSearch(std::span<const RankPair> slow, std::vector<int> order) : slow_(slow), order_(std::move(order)) {
    for (std::size_t i = 0; i < order_.size(); ++i) cut_.push_back(is_slow(order_[i], after(i)));
  }

  std::optional<std::vector<int>> find() {
    const auto slow_links = static_cast<std::size_t>(std::count(cut_.begin(), cut_.end(), true));
    if (slow_links == 0) return order_;
    for (std::size_t more = 0; more <= order_.size() - slow_links && trials_ < kMostTrials; ++more)
      if (cut_more(more, 0)) return from_the_old_begin();
    return std::nullopt;
  }

 private:
  using Segment = std::vector<int>;

  int after(std::size_t i) const { return order_[(i + 1) % order_.size()]; }
  bool is_slow(int one, int other) const {
    const RankPair pair{.a = std::min(one, other), .b = std::max(one, other)};
    return std::find(slow_.begin(), slow_.end(), pair) != slow_.end();
  }

  /// Cuts `more` further links from the one behind member `first` on, in all ways until one can be joined.
  bool cut_more(std::size_t more, std::size_t first) {
    if (more == 0) return join_segments();
    for (std::size_t i = first; i < cut_.size() && trials_ < kMostTrials; ++i) {
      if (cut_[i]) continue;
      cut_[i] = true;
      if (cut_more(more - 1, i + 1)) return true;
      cut_[i] = false;
    }
    return false;
  }

  bool join_segments() {
    segments_.assign(1, {});
    const auto last_cut =
        static_cast<std::size_t>(std::find(cut_.rbegin(), cut_.rend(), true).base() - cut_.begin());
    for (std::size_t n = 0; n < order_.size(); ++n) {
      const std::size_t i = (last_cut + n) % order_.size();
      segments_.back().push_back(order_[i]);
      if (cut_[i] && n + 1 < order_.size()) segments_.emplace_back();
    }
    joined_ = segments_.front();
    used_.assign(segments_.size(), false);
    used_.front() = true;
    return join(segments_.size() - 1);
  }

  /// Joins the `left` segments that are not used yet, each as it was or reversed.
  bool join(std::size_t left) {
    if (++trials_ >= kMostTrials) return false;
    if (left == 0) return !is_slow(joined_.back(), joined_.front());
    for (const bool reversed : {false, true})
      for (std::size_t i = 1; i < segments_.size(); ++i)
        if (!used_[i] && append(segments_[i], reversed)) {
          used_[i] = true;
          if (join(left - 1)) return true;
          used_[i] = false;
          joined_.resize(joined_.size() - segments_[i].size());
        }
    return false;
  }

  bool append(const Segment& segment, bool reversed) {
    if (reversed && segment.size() == 1) return false;
    if (is_slow(joined_.back(), reversed ? segment.back() : segment.front())) return false;
    if (reversed)
      joined_.insert(joined_.end(), segment.rbegin(), segment.rend());
    else
      joined_.insert(joined_.end(), segment.begin(), segment.end());
    return true;
  }

  std::vector<int> from_the_old_begin() {
    std::rotate(joined_.begin(), std::find(joined_.begin(), joined_.end(), order_.front()), joined_.end());
    return joined_;
  }

  std::span<const RankPair> slow_;
  std::vector<int> order_;
  std::vector<bool> cut_;  ///< behind each member
  std::vector<Segment> segments_;
  std::vector<bool> used_;
  std::vector<int> joined_;
  int trials_ = 0;
};

}  // namespace

std::optional<std::vector<int>> ring_order_without(std::span<const RankPair> slow, std::vector<int> order) {
  return RingSearch(slow, std::move(order)).find();
}

}  // namespace tenax::resilience
