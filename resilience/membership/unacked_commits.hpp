// UnackedCommits: the commits of a replica that the ledger may still lose. They are kept until the
// service says that its store has them for good, and sent again to a service that starts anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::resilience {

class UnackedCommits {
 public:
  void add(CommitRecord commit) { commits_.push_back(std::move(commit)); }
  /// Those that were not sent since the last rewind(), in order.
  std::vector<CommitRecord> take_unsent() {
    std::vector<CommitRecord> unsent(commits_.begin() + static_cast<std::ptrdiff_t>(sent_), commits_.end());
    sent_ = commits_.size();
    return unsent;
  }
  /// The link they were sent on has closed.
  void rewind() { sent_ = 0; }
  /// Forgets the commits of steps before `done`: they are stored.
  void forget_before(std::int64_t done) {
    for (; !commits_.empty() && commits_.front().step<done; sent_ -= sent_> 0) commits_.pop_front();
  }
  /// Forgets the commits of steps from `step` on: these steps are done again.
  void forget_from(std::int64_t step) {
    while (!commits_.empty() && commits_.back().step >= step) commits_.pop_back();
    sent_ = std::min(sent_, commits_.size());
  }
  const std::deque<CommitRecord>& all() const { return commits_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(commits_, sent_);
  }

 private:
  std::deque<CommitRecord> commits_;  // of consecutive steps
  std::size_t sent_ = 0;              // of them, from the front
};

}  // namespace tenax::resilience
