// How far something is that takes its time: a command, and a run before its first step.
#pragma once

#include <cstdint>
#include <string>

#include "app/console.hpp"

namespace tenax::app {

/// How far a command is: a line at the foot of the terminal behind stderr, redrawn ten times a
/// second at most. Nothing where stderr is no terminal.
class ProgressBar {
 public:
  enum class Unit { bytes, tokens };
  /// `total` of the unit; 0: nobody knows.
  explicit ProgressBar(std::int64_t total, Unit unit = Unit::bytes);

  void show(std::int64_t done);
  double seconds() const;  ///< since the beginning

 private:
  std::string amount(double value) const;
  std::string text(double done) const;

  std::int64_t total_;
  Unit unit_;
  double begin_s_, next_s_;
  TerminalLine line_;
};

/// How far a run's preparation is, on its console: the line at its foot, redrawn ten times a second
/// at most; where there is no terminal a line each ten seconds, none where it takes less.
class Preparation {
 public:
  /// `what`: "initialising 1.56 B weights". `console` must outlive this object.
  Preparation(Console& console, std::string what);

  /// `part`, of 1, is done.
  void show(double part);

 private:
  Console& console_;
  std::string what_;
  double next_s_;
};

}  // namespace tenax::app
