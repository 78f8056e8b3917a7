// StepLines: the lines on the console that tell how training goes.
#pragma once

#include <cstdint>
#include <string>

#include "app/console.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

/// On the emulated device there is no loss.
std::string validation_line(const io::Deck& deck, std::int64_t steps_done, double loss);

/// A line each run.log_interval steps, with the means since the line before; progress in between.
class StepLines {
 public:
  /// References must outlive it. `machine_flop_per_second`: matrix products on all ranks together,
  /// as measured at the start.
  StepLines(const io::Deck& deck, const parallel::Layout& layout, Console& console,
            double machine_flop_per_second);
  void report(const io::TrainingMetrics& metrics);

 private:
  const io::Deck& deck_;
  const parallel::Layout& layout_;
  Console& console_;
  double machine_flop_per_second_;
  double seconds_ = 0;  // since the last line
  std::int64_t steps_ = 0;
};

}  // namespace tenax::app
