// Console: what a person sees of a run. One line a report on stdout; on a terminal a progress bar below them.
#pragma once

#include <cstdint>
#include <string>

namespace tenax::app {

/// A line of the training table.
struct StepReport {
  std::int64_t step = 0, train_steps = 0;
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double tokens_per_second = 0;
  double flop_per_second = 0;  ///< model FLOP
  double peak_fraction = 0;    ///< of the matrix-product rate; at most 1
  double eta_s = 0;
  double iteration_s = 0;
  bool has_data = true;  ///< false: the iteration's time is all there is
};

/// The bar below the table in less than `columns` columns: what is known of the run in as much detail as fits.
std::string progress_line(const StepReport& report, int columns);

/// Silent where `speaks` is false (every rank but 0).
class Console {
 public:
  explicit Console(bool speaks);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void say(const std::string& line);
  void warn(const std::string& line);  ///< to stderr, "tenax: …"
  void report(const StepReport& report);
  bool is_terminal() const { return terminal_ >= 0; }
  /// Draws a line below the others, which the next one replaces, as far as it fits; does nothing but on a terminal.
  void draw(const std::string& line);
  /// Draws the bar, as wide as the terminal is now; does nothing but on a terminal.
  void progress(const StepReport& report);

 private:
  void clear_bar();

  bool speaks_;
  int terminal_;  ///< a descriptor of the terminal that shows stdout; −1: none does
  bool bar_shown_ = false;
  int lines_since_header_ = -1;
};

}  // namespace tenax::app
