// ControlGroup: the control plane of a group of ranks: small host-side collectives for decks,
// votes, plans and errors. Blocking, each wait under the group's deadline; not for tensors.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::comm {

/// An Error that every rank of a group throws alike: one of them is enough to tell the user.
class AgreedError : public kernels::Error {
 public:
  using kernels::Error::Error;
};

/// Of a kernels::UnfitFileError.
class AgreedUnfitFileError : public AgreedError {
 public:
  using AgreedError::AgreedError;
};

class ControlGroup {
 public:
  virtual ~ControlGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Every rank returns root's string.
  virtual std::string broadcast(const std::string& text, int root) = 0;
  /// The strings of all ranks, in rank order, on every rank.
  virtual std::vector<std::string> all_gather(const std::string& text) = 0;
  /// Element-wise sums, added in rank order: the same bits on every rank.
  virtual void all_reduce_sum(std::span<double> values) = 0;
  /// The same, added in `order`, a permutation of the ranks.
  virtual void all_reduce_sum(std::span<double> values, const std::vector<int>& order) = 0;
  virtual void all_reduce_max(std::span<double> values) = 0;

  /// Runs `work` on every rank, then all ranks learn whether any threw: if so, every rank throws
  /// the Error of the lowest failing rank (with its scope) as an AgreedError. So one bad file ends the run once, with
  /// one message, and nobody hangs.
  void agree(const std::function<void()>& work);

  /// Any thread, while another is in a call of the group: this rank is about to end. No call lasts
  /// for more than `seconds` from now on; then it throws Error(link), as at the deadline.
  virtual void hurry(double seconds) noexcept = 0;
};

/// So long a rank of a group that allows `deadline_s` may wait for something else at a time, while the others wait for it.
double turn_seconds(double deadline_s);

/// Collective, as ControlGroup::agree, for work with a result: returns what it returned on each
/// rank, in rank order. If it threw on any, every rank throws the AgreedError of the lowest such
/// rank.
std::vector<std::string> agreed_answers(ControlGroup& group, const std::function<std::string()>& work);

/// Collective. Calls `work` on every rank until it has returned false on all; it does a few
/// seconds' work at a time, so that no rank waits for another longer than the group's deadline
/// allows. Every rank calls `after_round` after each round, also where its own work is done.
void agree_in_rounds(
    ControlGroup& group, const std::function<bool()>& work, const std::function<void()>& after_round = [] {});

}  // namespace tenax::comm
