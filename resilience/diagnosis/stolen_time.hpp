// StolenTime: how long this process's processors, being a virtual machine's, did not run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/posix_file.hpp"

namespace tenax::resilience {

/// Reads the kernel's file of processors, which stays open, every 0.1 s at the most: it counts in
/// steps of 10 ms, and grows with the machine. Where it finds none it tells 0 and never throws. Used
/// by one thread at a time.
class StolenTime {
 public:
  /// `processors`: a file like /proc/stat. `allowed`: the numbers, ascending, of those on which this
  /// process may run. `now_s`: the time of the caller's clock.
  StolenTime(const std::filesystem::path& processors, std::vector<int> allowed, double now_s);

  /// Seconds since the last call (the constructor for the first), the mean over its processors, at
  /// the rate of the last 0.1 s or more.
  double take(double now_s);

 private:
  std::optional<double> read_stolen_s();

  std::vector<int> allowed_;
  std::optional<io::PosixFile> file_;
  std::string text_;  // what was read, and room for it
  double taken_at_s_, read_at_s_;
  double stolen_s_ = 0;  // a processor's, as last read
  double share_ = 0;     // of the time
};

/// The processors on which the calling thread may run; none where the system does not tell.
std::vector<int> allowed_processors();

}  // namespace tenax::resilience
