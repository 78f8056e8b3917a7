#include "app/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/terminal_line.hpp"
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

std::string ProgressBar::line(double done) const {
  const auto total = static_cast<double>(total_);
  const double rate = done / std::max(seconds(), 1e-9);
  std::vector<LinePart> parts{
      {amount(done) + (total_ > 0 ? " of " + amount(total) : ""), 0},
      {unit_ == Unit::bytes ? format("%.1f MB/s", rate / 1e6) : format("%.0f tokens/s", rate), 2}};
  if (total_ > 0 && rate > 0) parts.push_back({duration_text((total - done) / rate) + " left", 1});
  return terminal_line(total_ > 0 ? done / total : -1, parts, terminal_columns(STDERR_FILENO));
}

void ProgressBar::show(std::int64_t done) {
  constexpr std::chrono::milliseconds kPeriod{100};
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kPeriod;
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%s", line(static_cast<double>(done)).c_str());
  std::fflush(stderr);
}

}  // namespace tenax::app
