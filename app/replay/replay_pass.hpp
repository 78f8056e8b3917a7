// ReplayPass: one of the two runs of tenax replay, as its supervisor sees it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/launch/replica_command.hpp"
#include "app/launch/replica_process.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

/// Used by one thread. Destruction ends what still runs of it on this host.
class ReplayPass {
 public:
  struct Options {
    std::string name;              ///< in messages: "the first run on alpha"
    ReplicaCommand command;        ///< without arguments and scratch
    std::filesystem::path folder;  ///< its own, which its ranks reach too
    double patience_s = 0;         ///< so long it may show no progress
  };
  /// Writes `deck` into the folder and starts. Throws Error(rank) where it cannot.
  ReplayPass(Options options, const io::Deck& deck);
  ~ReplayPass();
  ReplayPass(const ReplayPass&) = delete;
  ReplayPass& operator=(const ReplayPass&) = delete;

  /// True once it has ended well. Throws Error(rank), with its last words, where it failed or shows no
  /// progress.
  bool poll();
  const std::filesystem::path& folder() const { return options_.folder; }

 private:
  std::filesystem::path log() const { return options_.folder / "log"; }
  std::uintmax_t written() const;
  [[noreturn]] void fail(const std::string& reason) const;

  Options options_;
  std::optional<ReplicaProcess> process_;
  std::uintmax_t written_ = 0;
  double progress_s_ = 0;
};

}  // namespace tenax::app
