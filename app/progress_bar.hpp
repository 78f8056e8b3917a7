// ProgressBar: how far a command is, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenax::app {

/// One line on stderr, no wider than the terminal, that is redrawn, ten times a second at most; nothing where stderr is
/// no terminal.
class ProgressBar {
 public:
  enum class Unit { bytes, tokens };
  /// `total` of the unit: 0 = nobody knows.
  explicit ProgressBar(std::int64_t total, Unit unit = Unit::bytes);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::int64_t done);
  double seconds() const;  ///< since the beginning

 private:
  std::string amount(double value) const;
  std::string line(double done) const;

  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_;
  std::int64_t total_;
  Unit unit_;
  bool is_terminal_, is_shown_ = false;
};

}  // namespace tenax::app
