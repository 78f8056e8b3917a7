// SliceQueue: which slice of a state is asked of which source next, and which are here.
#pragma once

#include <optional>
#include <vector>

namespace tenax::resilience {

/// Sources that are equally fast give equally much: the slices go to them by turns, and where the first turns of
/// several queues are different sources', what a division leaves over is shared out as well. Pure; not for several
/// threads at once.
class SliceQueue {
 public:
  /// `first`: the source whose turn the first slice is; counted modulo `sources`.
  SliceQueue(int slices, int sources, int first);

  /// What to ask of `source`, which owes `asked`: its own slices first, then those of sources that give no more. Who owes
  /// nothing helps those that are slower: with what nobody has been asked for; and, where it has `waited` in vain, with what they
  /// owe.
  std::optional<int> next(int source, const std::vector<int>& asked, bool waited = false);
  /// The slice has come. False: it had come before.
  bool take(int slice);
  /// The source gives no more, nor what it owes.
  void leave(int source, const std::vector<int>& asked);
  int here() const { return here_; }

 private:
  enum class Progress : char { wanted, asked, here };
  template <class Condition>
  std::optional<int> find(Progress progress, Condition is_it) const;
  int source_of(int slice) const { return (slice + first_) % static_cast<int>(has_left_.size()); }

  std::vector<char> has_left_;  // by source
  int first_, here_ = 0;
  std::vector<Progress> progress_;  // by slice
};

}  // namespace tenax::resilience
