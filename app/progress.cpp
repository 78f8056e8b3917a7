#include "app/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/units.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

using kernels::steady_now_s;

namespace {

constexpr double kRedraw_s = 0.1, kNextLine_s = 10;

}  // namespace

ProgressBar::ProgressBar(std::int64_t total, Unit unit)
    : total_(total),
      unit_(unit),
      begin_s_(steady_now_s()),
      next_s_(begin_s_),
      line_(stderr, isatty(STDERR_FILENO) == 1 ? STDERR_FILENO : -1) {}

double ProgressBar::seconds() const { return steady_now_s() - begin_s_; }

std::string ProgressBar::amount(double value) const {
  return unit_ == Unit::bytes ? bytes_text(value) : count_text(value) + " tokens";
}

std::string ProgressBar::text(double done) const {
  const auto total = static_cast<double>(total_);
  const double rate = done / std::max(seconds(), 1e-9);
  std::vector<LinePart> parts{
      {amount(done) + (total_ > 0 ? " of " + amount(total) : ""), 0},
      {unit_ == Unit::bytes ? format("%.1f MB/s", rate / 1e6) : format("%.0f tokens/s", rate), 2}};
  if (total_ > 0 && rate > 0) parts.push_back({duration_text((total - done) / rate) + " left", 1});
  return terminal_line(total_ > 0 ? done / total : -1, std::move(parts), line_.columns());
}

void ProgressBar::show(std::int64_t done) {
  if (!line_.is_on_terminal() || steady_now_s() < next_s_) return;
  next_s_ = steady_now_s() + kRedraw_s;
  line_.draw(text(static_cast<double>(done)));
}

Preparation::Preparation(Console& console, std::string what)
    : console_(console),
      what_(std::move(what)),
      next_s_(steady_now_s() + (console.foot().is_on_terminal() ? 0 : kNextLine_s)) {
  show(0);
}

void Preparation::show(double part) {
  if (steady_now_s() < next_s_) return;
  const bool redraws = console_.foot().is_on_terminal();
  next_s_ = steady_now_s() + (redraws ? kRedraw_s : kNextLine_s);
  const std::string line = format("%s: %.0f%%", what_.c_str(), 100 * part);
  if (redraws)
    console_.foot().draw(line);
  else
    console_.say(line);
}

}  // namespace tenax::app
