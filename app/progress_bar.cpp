#include "app/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "app/units.hpp"

namespace tenax::app {

ProgressBar::ProgressBar(std::int64_t total, Unit unit)
    : total_(total), unit_(unit), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

double ProgressBar::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

std::string ProgressBar::amount(double value) const {
  return unit_ == Unit::bytes ? bytes_text(value) : count_text(value) + " tokens";
}

void ProgressBar::show(std::int64_t done) {
  constexpr std::chrono::milliseconds kPeriod{100};
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kPeriod;
  is_shown_ = true;
  const auto now = static_cast<double>(done), total = static_cast<double>(total_);
  const double rate = now / std::max(seconds(), 1e-9);
  std::string line = amount(now);
  if (total_ > 0) {
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(std::clamp(now / total, 0.0, 1.0) * kWidth);
    line = "[" + std::string(static_cast<std::size_t>(filled), '#') +
           std::string(static_cast<std::size_t>(kWidth - filled), '.') + "] " + line + " of " + amount(total);
  }
  line += unit_ == Unit::bytes ? format(", %.1f MB/s", rate / 1e6) : format(", %.0f tokens/s", rate);
  if (total_ > 0 && rate > 0) line += ", " + duration_text((total - now) / rate) + " left";
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace tenax::app
