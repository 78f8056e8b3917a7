// RunKeys: the keys of a run in etcd.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace tenax::resilience {

class RunKeys {
 public:
  /// Without a slash at its end.
  explicit RunKeys(std::string prefix) : prefix_(std::move(prefix) + "/") {}

  /// What all keys of the run begin with.
  const std::string& all() const { return prefix_; }
  /// Who is in charge (RunLease); goes with its lease.
  std::string leader() const { return prefix_ + "leader"; }
  /// Of the run whose keys these are.
  std::string run_directory() const { return prefix_ + "run_directory"; }
  /// How the run ended; there is none before.
  std::string end() const { return prefix_ + "end"; }
  /// Where the membership service of the supervisor that was last in charge is: a JSON array of addresses.
  std::string service() const { return prefix_ + "service"; }
  /// The newest epoch's number.
  std::string epoch() const { return prefix_ + "epoch"; }
  /// Each epoch, as its line in ledger.jsonl without the chain.
  std::string epochs() const { return prefix_ + "epochs/"; }
  std::string epoch(std::int64_t number) const {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%012lld", static_cast<long long>(number));
    return epochs() + digits;
  }
  /// Committed steps and the data's cursor.
  std::string head() const { return prefix_ + "head"; }
  /// Incarnations and starts in vain of each replica, and hosts set aside.
  std::string replicas() const { return prefix_ + "replicas"; }

 private:
  std::string prefix_;
};

}  // namespace tenax::resilience
