// Preparation: what takes its time before the first step, shown so that one sees that it goes on.
#pragma once

#include <chrono>
#include <string>

#include "app/console.hpp"

namespace tenax::app {

class Preparation {
 public:
  /// `what`: "initialising 1.56 B weights". `console` must outlive this object.
  Preparation(Console& console, std::string what);

  /// `part`, of 1, is done. On a terminal a line that is redrawn, ten times a second at most; elsewhere a line each ten
  /// seconds, none where it takes less.
  void show(double part);

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  std::string what_;
  Clock::time_point next_;
};

}  // namespace tenax::app
