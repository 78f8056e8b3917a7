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
  double peak_fraction = 0;    ///< of the measured matrix-product rate
  double eta_s = 0;
  double iteration_s = 0;
  bool has_data = true;  ///< false: the iteration's time is all there is
};

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
  bool is_terminal() const { return terminal_; }
  /// Draws a line below the others, which the next one replaces; does nothing but on a terminal.
  void draw(const std::string& line);
  /// Draws the bar; does nothing but on a terminal.
  void progress(std::int64_t steps_done, std::int64_t train_steps, double eta_s);

 private:
  void clear_bar();

  bool speaks_;
  bool terminal_;
  bool bar_shown_ = false;
  int lines_since_header_ = -1;
};

}  // namespace tenax::app
