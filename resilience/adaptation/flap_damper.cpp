#include "resilience/adaptation/flap_damper.hpp"

namespace tenax::resilience {

void FlapDamper::add(bool away) {
  if (away) {
    if (!left_ && hold() < options_.longest_hold) ++departures_;
    left_ = true;
    calm_ = 0;
    return;
  }
  ++calm_;
  if (left_ && calm_ > hold()) {
    left_ = false;
    calm_ = 0;
  } else if (!left_ && departures_ > 0 &&
             calm_ >= options_.forgiving * std::max(hold(), options_.first_hold)) {
    --departures_;
    calm_ = 0;
  }
}

int FlapDamper::hold_of_departure() const { return hold_after(left_ ? departures_ : departures_ + 1); }

int FlapDamper::hold_after(int departures) const {
  int hold = departures < 2 ? 0 : options_.first_hold;
  for (int i = 2; i < departures && hold < options_.longest_hold; ++i) hold *= 2;
  return std::min(hold, options_.longest_hold);
}

}  // namespace tenax::resilience
