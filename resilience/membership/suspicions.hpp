// Suspicions: exchanges that failed between replicas which are all alive, as far as the service
// knows. Mostly another replica has died, and the neighbours of those that noticed it first fail
// in turn: the service waits a little for a better explanation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tenax::resilience {

class Suspicions {
 public:
  /// `accuser`'s exchange failed at `accused`; −1: it does not know where.
  void add(int accuser, int accused, double now);
  void clear() { *this = {}; }
  void shift(double seconds) { since_s_ += seconds; }

  /// Whether there are any, and nothing has explained them for `wait_s`.
  bool are_due(double now, double wait_s) const { return !accusers_.empty() && now - since_s_ >= wait_s; }
  bool are_there() const { return !accusers_.empty(); }
  /// The replicas accused by most, in the order of the ring. None: nobody was named.
  std::vector<int> most_accused(const std::vector<int>& ring) const;

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(accusers_);
  }

 private:
  double since_s_ = 0;
  std::map<int, std::set<int>> accusers_;  // by accused
};

}  // namespace tenax::resilience
