#include "app/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "app/units.hpp"

namespace tenax::app {

ProgressBar::ProgressBar(std::int64_t total_bytes)
    : total_bytes_(total_bytes), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

double ProgressBar::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

void ProgressBar::show(std::int64_t bytes) {
  constexpr std::chrono::milliseconds kPeriod{100};
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kPeriod;
  is_shown_ = true;
  const auto done = static_cast<double>(bytes), total = static_cast<double>(total_bytes_);
  const double rate = done / std::max(seconds(), 1e-9);
  std::string line = bytes_text(done);
  if (total_bytes_ > 0) {
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(std::clamp(done / total, 0.0, 1.0) * kWidth);
    line = "[" + std::string(static_cast<std::size_t>(filled), '#') +
           std::string(static_cast<std::size_t>(kWidth - filled), '.') + "] " + line + " of " +
           bytes_text(total);
  }
  line += format(", %.1f MB/s", rate / 1e6);
  if (total_bytes_ > 0 && rate > 0) line += ", " + duration_text((total - done) / rate) + " left";
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace tenax::app
