// A line at the foot of a terminal that is redrawn: how wide, and how it is filled.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Columns of the terminal behind `descriptor` now; as many as usual where it does not say.
int terminal_columns(int descriptor);

/// A part of the line's text; of those that do not fit together, the ones of the highest rank are left out.
struct LinePart {
  std::string text;
  int rank = 0;
};

/// "[###.....] 12/40, loss 2.31, 8 s left": the parts that fit, and before them a bar that fills the line up to `columns`
/// less one, as a line that went on in the next one could not be redrawn. Without a bar where there is no room to see
/// something in it. `share` of it is done, 0 to 1; negative: nobody knows, no bar.
std::string terminal_line(double share, std::vector<LinePart> parts, int columns);

}  // namespace tenax::app
