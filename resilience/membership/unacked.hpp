// Unacked: what a replica has told the service and may have to tell again: it is kept until the
// service says that it is stored for good, and sent again to a service that starts anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "resilience/membership/member_messages.hpp"

namespace tenax::resilience {

/// `kStep` says which step an item is about, or numbers the items. They come in its order.
template <class Item, std::int64_t Item::*kStep>
class Unacked {
 public:
  void add(Item item) { items_.push_back(std::move(item)); }
  /// Those that were not sent since the last rewind(), in order.
  std::vector<Item> take_unsent() {
    std::vector<Item> unsent(items_.begin() + static_cast<std::ptrdiff_t>(sent_), items_.end());
    sent_ = items_.size();
    return unsent;
  }
  /// The link they were sent on has closed.
  void rewind() { sent_ = 0; }
  /// Forgets those of steps before `step`: they are stored.
  void forget_before(std::int64_t step) {
    while (!items_.empty() && items_.front().*kStep < step) {
      items_.pop_front();
      if (sent_ > 0) --sent_;
    }
  }
  /// Forgets those of steps from `step` on: these are done again.
  void forget_from(std::int64_t step) {
    while (!items_.empty() && items_.back().*kStep >= step) items_.pop_back();
    sent_ = std::min(sent_, items_.size());
  }
  const std::deque<Item>& all() const { return items_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(items_, sent_);
  }

 private:
  std::deque<Item> items_;
  std::size_t sent_ = 0;  // of them, from the front
};

/// Commits that the ledger may still lose, of consecutive steps.
using UnackedCommits = Unacked<CommitRecord, &CommitRecord::step>;
/// Validations that the run's records may still lack.
using UnackedValidations = Unacked<Validated, &Validated::done>;
/// Observations likewise.
using UnackedObservations = Unacked<Observed, &Observed::number>;

}  // namespace tenax::resilience
