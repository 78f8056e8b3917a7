// The picture of a hang, replica-K/hang-N.svg: who is to blame, and who waits for whom.
#pragma once

#include <string>

#include "resilience/blame/culprits.hpp"

namespace tenax::resilience {

/// An SVG. From the right: the culprits, the ranks that wait for them, those that wait for these, …; between them the
/// operations. Of a column with many ranks some are drawn, and the others counted.
std::string draw_hang_svg(const HangDump& dump, const Blame& blame);

}  // namespace tenax::resilience
