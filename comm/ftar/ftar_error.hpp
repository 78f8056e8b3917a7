// FtarError: why an exchange between replicas failed, and whether survivors can repeat it.
#pragma once

#include <string>

#include "kernels/error.hpp"

namespace tenax::comm {

struct FtarFailure {
  enum class Cause {
    aborted,  ///< by this rank: the epoch was frozen, or abort() was called
    peer,     ///< a connection broke, or a replica said that it ends
    timeout,  ///< nothing moved before the deadline
    fatal     ///< this host's fault, or a mistake: repeating it would fail again
  };
  static constexpr int kNobody = -1;

  Cause cause = Cause::fatal;
  int peer = kNobody;  ///< the index in the ring of the replica at fault, as far as this rank knows
  /// The failure struck another bucket: this one was waiting, or had not begun.
  bool is_cancelled = false;
  std::string sentence;

  bool is_recoverable() const { return cause != Cause::fatal; }
};

/// Of scope link where the exchange can be repeated among the survivors, else of scope rank.
class FtarError : public kernels::Error {
 public:
  explicit FtarError(const FtarFailure& failure)
      : kernels::Error(failure.is_recoverable() ? kernels::Scope::link : kernels::Scope::rank,
                       (failure.is_cancelled ? "cancelled behind another bucket: " : "") + failure.sentence),
        failure_(failure) {}
  const FtarFailure& failure() const { return failure_; }

 private:
  FtarFailure failure_;
};

}  // namespace tenax::comm
