// Console: what a person sees of a run: lines on stdout, and below them a progress bar where that
// is a terminal. Errors and notices on stderr.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "app/terminal_line.hpp"

namespace tenax::kernels {
class Error;
}

namespace tenax::app {

/// A line of the training table.
struct StepReport {
  std::int64_t step = 0, train_steps = 0;
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double tokens_per_second = 0;
  double flop_per_second = 0;  ///< model FLOP
  double peak_fraction = 0;    ///< share of the matrix-product rate; at most 1
  double eta_s = 0;
  double iteration_s = 0;
  bool has_data = true;  ///< false: the iteration's time is all there is
};

/// The bar below the table in less than `columns` columns: what is known of the run in as much
/// detail as fits.
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
  /// Draws the bar below the lines, as wide as the terminal is now.
  void progress(const StepReport& report);
  /// The line below the others.
  TerminalLine& foot() { return foot_; }

 private:
  bool speaks_;
  int terminal_;  // a descriptor of the terminal that shows stdout; -1: none does
  TerminalLine foot_;
  int lines_since_header_ = -1;
};

/// What `error` says, for a terminal and for events: one line of at most io::kLongestMessage bytes,
/// without control characters (file names and files may hold any), and about memory in our words
/// instead of the standard library's.
std::string message_of(const std::exception& error);

/// A deck's or command line's mistake names its own place (DECK:LINE:COLUMN: …); the rest is
/// tenax speaking.
void print_error(const kernels::Error& error);
/// "tenax: …"
void print_error(const std::exception& error);
/// "tenax: SENTENCE", shortened and freed of control characters as errors are.
void print_notice(const std::string& sentence);

}  // namespace tenax::app
