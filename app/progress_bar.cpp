#include "app/progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "app/units.hpp"

namespace tenax::app {

namespace {

/// Of the terminal; as many as usual where it does not say.
int columns() {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

/// "[###.] " in less than `room` columns; nothing where that is too little to see something.
std::string bar(double part, int room) {
  constexpr int kFrame = 4, kLeast = 8, kMost = 40;
  const int width = std::min(room - kFrame, kMost);
  if (width < kLeast) return {};
  const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * width);
  return "[" + std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '.') + "] ";
}

}  // namespace

ProgressBar::ProgressBar(std::int64_t total, Unit unit)
    : total_(total), unit_(unit), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

double ProgressBar::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

std::string ProgressBar::amount(double value) const {
  return unit_ == Unit::bytes ? bytes_text(value) : count_text(value) + " tokens";
}

std::string ProgressBar::line(double done) const {
  const auto total = static_cast<double>(total_);
  const double rate = done / std::max(seconds(), 1e-9);
  std::string text = amount(done) + (total_ > 0 ? " of " + amount(total) : "");
  text += unit_ == Unit::bytes ? format(", %.1f MB/s", rate / 1e6) : format(", %.0f tokens/s", rate);
  if (total_ == 0) return text;
  if (rate > 0) text += ", " + duration_text((total - done) / rate) + " left";
  return bar(done / total, columns() - static_cast<int>(text.size())) + text;
}

void ProgressBar::show(std::int64_t done) {
  constexpr std::chrono::milliseconds kPeriod{100};
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kPeriod;
  is_shown_ = true;
  // A line that went on in the next one could not be redrawn.
  const std::string text = line(static_cast<double>(done)).substr(0, static_cast<std::size_t>(columns() - 1));
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace tenax::app
