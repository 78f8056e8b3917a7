#include "app/console.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/error_message.hpp"
#include "app/terminal_line.hpp"
#include "app/units.hpp"
#include "comm/world.hpp"

namespace tenax::app {

namespace {

// printf shows the sign of a not-a-number; people need not.
double shown(double value) { return std::isnan(value) ? std::abs(value) : value; }

constexpr int kLinesPerHeader = 40;

// mpirun gives its ranks a pseudo-terminal, of no size, even when its own output is a file; so it is the launcher's stdout
// that counts.
int open_terminal() {
  if (!isatty(STDOUT_FILENO)) return -1;
  const std::string path =
      comm::launched_by_mpi() ? "/proc/" + std::to_string(getppid()) + "/fd/1" : "/proc/self/fd/1";
  struct stat target;
  if (stat(path.c_str(), &target) != 0 || !S_ISCHR(target.st_mode)) return -1;
  const int terminal = open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (terminal >= 0 && isatty(terminal)) return terminal;
  if (terminal >= 0) close(terminal);
  return -1;
}

}  // namespace

std::string progress_line(const StepReport& r, int columns) {
  std::vector<LinePart> parts{
      {format("%lld/%lld", static_cast<long long>(r.step), static_cast<long long>(r.train_steps)), 0}};
  if (r.has_data) {
    parts.push_back({format("loss %.4f", shown(r.loss)), 2});
    parts.push_back({format("%.0f tokens/s", r.tokens_per_second), 3});
  }
  parts.push_back({duration_text(r.eta_s) + " left", 1});
  const auto total = static_cast<double>(std::max<std::int64_t>(r.train_steps, 1));
  return terminal_line(static_cast<double>(r.step) / total, std::move(parts), columns);
}

Console::Console(bool speaks) : speaks_(speaks), terminal_(speaks ? open_terminal() : -1) {}

Console::~Console() {
  clear_bar();
  if (terminal_ >= 0) close(terminal_);
}

void Console::clear_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stdout);
  bar_shown_ = false;
}

void Console::say(const std::string& line) {
  if (!speaks_) return;
  clear_bar();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Console::warn(const std::string& line) {
  if (!speaks_) return;
  clear_bar();
  print_notice(line);
}

void Console::report(const StepReport& r) {
  const bool with_header = ++lines_since_header_ % kLinesPerHeader == 0;
  const std::string step =
      format("%lld/%lld", static_cast<long long>(r.step), static_cast<long long>(r.train_steps));
  const std::string eta = duration_text(r.eta_s);
  if (!r.has_data) {
    if (with_header) say(format("%14s %14s %10s", "step", "iteration/ms", "ETA"));
    say(format("%14s %14.2f %10s", step.c_str(), 1e3 * r.iteration_s, eta.c_str()));
    return;
  }
  if (with_header)
    say(format("%10s %9s %9s %9s %9s %13s %6s %7s", "step", "loss", "grad norm", "lr", "tokens/s",
               "model FLOP/s", "peak", "ETA"));
  // Within 80 columns, as long as there are fewer than ten thousand steps.
  say(format("%10s %9.5f %9.4f %9.3e %9.0f %13s %5.1f%% %7s", step.c_str(), shown(r.loss), shown(r.grad_norm),
             r.learning_rate, r.tokens_per_second, rate_text(r.flop_per_second).c_str(),
             100 * r.peak_fraction, eta.c_str()));
}

void Console::draw(const std::string& line) {
  if (terminal_ < 0) return;
  // A line that went on in the next one could not be redrawn.
  const auto room = static_cast<std::size_t>(terminal_columns(terminal_) - 1);
  std::printf("\r\033[K%s", line.substr(0, room).c_str());
  std::fflush(stdout);
  bar_shown_ = true;
}

void Console::progress(const StepReport& report) {
  if (terminal_ >= 0) draw(progress_line(report, terminal_columns(terminal_)));
}

}  // namespace tenax::app
