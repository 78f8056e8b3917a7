#include "app/preparation.hpp"

#include <utility>

#include "app/units.hpp"

namespace tenax::app {

namespace {

constexpr std::chrono::milliseconds kRedraw{100}, kNextLine{10'000};

}  // namespace

Preparation::Preparation(Console& console, std::string what)
    : console_(console),
      what_(std::move(what)),
      next_(Clock::now() + (console.is_terminal() ? Clock::duration::zero() : kNextLine)) {
  show(0);
}

void Preparation::show(double part) {
  if (Clock::now() < next_) return;
  next_ = Clock::now() + (console_.is_terminal() ? kRedraw : kNextLine);
  const std::string line = format("%s: %.0f%%", what_.c_str(), 100 * part);
  if (console_.is_terminal())
    console_.draw(line);
  else
    console_.say(line);
}

}  // namespace tenax::app
