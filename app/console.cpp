#include "app/console.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

#include "app/units.hpp"
#include "comm/world.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"

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

Console::Console(bool speaks)
    : speaks_(speaks), terminal_(speaks ? open_terminal() : -1), foot_(stdout, terminal_) {}

Console::~Console() {
  foot_.clear();
  if (terminal_ >= 0) close(terminal_);
}

void Console::say(const std::string& line) {
  if (!speaks_) return;
  foot_.clear();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Console::warn(const std::string& line) {
  if (!speaks_) return;
  foot_.clear();
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

void Console::progress(const StepReport& report) {
  if (foot_.is_on_terminal()) foot_.draw(progress_line(report, foot_.columns()));
}

namespace {

void print_line(const char* speaker, const std::string& sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s%s\n", speaker, sentence.c_str());
}

}  // namespace

std::string message_of(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (is_memory)
    return "there is not enough memory for what was asked (tenax plan says what a run needs, ulimit -v what "
           "a "
           "process may have)";
  return io::excerpt(error.what(), io::kLongestMessage);
}

void print_error(const kernels::Error& error) {
  print_line(error.scope() == kernels::Scope::usage ? "" : "tenax: ", message_of(error));
}

void print_error(const std::exception& error) { print_line("tenax: ", message_of(error)); }

void print_notice(const std::string& sentence) {
  print_line("tenax: ", io::excerpt(sentence, io::kLongestMessage));
}

}  // namespace tenax::app
