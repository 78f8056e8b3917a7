#include "app/console.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/error_message.hpp"
#include "app/units.hpp"
#include "comm/world.hpp"

namespace tenax::app {

namespace {

// printf shows the sign of a not-a-number; people need not.
double shown(double value) { return std::isnan(value) ? std::abs(value) : value; }

constexpr int kLinesPerHeader = 40;
constexpr int kBarWidth = 40;

// mpirun gives its ranks a pseudo-terminal even when its own output is a file; so the launcher's stdout counts too.
bool shows_on_terminal() {
  if (!isatty(STDOUT_FILENO)) return false;
  if (!comm::launched_by_mpi()) return true;
  struct stat launcher;
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  constexpr unsigned kFirstPtyMajor = 136, kLastPtyMajor = 143;
  if (stat(path.c_str(), &launcher) != 0 || !S_ISCHR(launcher.st_mode)) return false;
  const unsigned device = static_cast<unsigned>(launcher.st_rdev >> 8) & 0xfffU;
  return device >= kFirstPtyMajor && device <= kLastPtyMajor;
}

}  // namespace

Console::Console(bool speaks) : speaks_(speaks), terminal_(speaks && shows_on_terminal()) {}

Console::~Console() { clear_bar(); }

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
    say(format("%14s %10s %10s %10s %12s %16s %6s %10s", "step", "loss", "grad norm", "lr", "tokens/s",
               "model FLOP/s", "peak", "ETA"));
  say(format("%14s %10.5f %10.4f %10.3e %12.0f %16s %5.1f%% %10s", step.c_str(), shown(r.loss),
             shown(r.grad_norm), r.learning_rate, r.tokens_per_second, rate_text(r.flop_per_second).c_str(),
             100 * r.peak_fraction, eta.c_str()));
}

void Console::draw(const std::string& line) {
  if (!terminal_) return;
  std::printf("\r\033[K%s", line.c_str());
  std::fflush(stdout);
  bar_shown_ = true;
}

void Console::progress(std::int64_t steps_done, std::int64_t train_steps, double eta_s) {
  if (!terminal_) return;
  const int filled = static_cast<int>(kBarWidth * steps_done / std::max<std::int64_t>(train_steps, 1));
  draw(format("[%s%s] %lld/%lld, %s left", std::string(static_cast<std::size_t>(filled), '#').c_str(),
              std::string(static_cast<std::size_t>(kBarWidth - filled), '.').c_str(),
              static_cast<long long>(steps_done), static_cast<long long>(train_steps),
              duration_text(eta_s).c_str()));
}

}  // namespace tenax::app
