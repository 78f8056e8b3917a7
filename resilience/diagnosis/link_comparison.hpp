// LinkComparison: which links of one kind of group take longer for a message than the others do.
// Pure.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "resilience/diagnosis/probe_sizes.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

/// Messages of one size are compared, of all links in both directions; of several passes the one that
/// took least. One is slow that takes more than `suspect` × their median (the lower one of an even
/// number), and by more than noise: three times their typical deviation from it, and what a waiting
/// rank may be late to look; unless others had the processor of one of its ends for half of its
/// excess. A link is slow whose tiny messages are, in one direction at least, or its messages of
/// every other size: in two passes at least, else all of them.
class LinkComparison {
 public:
  /// `tests`: of all ranks.
  LinkComparison(parallel::GroupKind kind, const std::vector<RankTests>& tests, double suspect);

  /// False where it was not tested, or no other one was, or it may be slow: one measurement neither convicts nor acquits.
  bool can_judge(int rank, int other) const;
  /// What its largest messages take in the slower direction, to what they take on its like. Of one
  /// that can be judged.
  double ratio(int rank, int other) const;
  /// Every slow one, with the figures of the message that tells it most; not of a tiny one, unless
  /// no other is slow: training sends others.
  std::vector<Component> slow() const;

 private:
  struct Tally {
    std::set<int> passes;               ///< in which the link was tested
    std::set<std::size_t> sizes, slow;  ///< of its messages, and of slow ones
    double factor = 0, healthy_s = 0;   ///< of the slowest
    bool is_slow() const { return slow.size() == sizes.size(); }
    bool is_surely_slow() const { return is_slow() && passes.size() > 1; }
  };
  struct Judgement {
    Tally tiny, large;  ///< tiny messages, and others
    std::size_t largest_bytes = 0;
    double ratio = 0;  ///< of these
    Tally& of(std::size_t bytes) { return bytes <= kTinyProbeBytes ? tiny : large; }
    bool is_slow() const {
      return tiny.is_surely_slow() || large.is_surely_slow() || (tiny.is_slow() && large.is_slow());
    }
    bool is_doubtful() const { return !is_slow() && !large.sizes.empty() && large.is_slow(); }
  };
  void add(const LinkTime& time);
  void judge(const std::vector<LinkTime>& times, double suspect);
  double preempted_s(const LinkTime& time) const;

  parallel::GroupKind kind_;
  std::map<std::pair<int, int>, double> preempted_s_of_;        // by rank and pass
  std::map<std::pair<int, int>, Judgement> judgement_of_link_;  // the lower rank first
};

}  // namespace tenax::resilience
