// TerminalLine: the line at the foot of a terminal that is redrawn, and what it says.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace tenax::app {

/// A part of the line's text. If the parts do not fit together, those of the highest rank are left
/// out.
struct LinePart {
  std::string text;
  int rank = 0;
};

/// "[###.....] 12/40, loss 2.31, 8 s left", shorter than `columns`: the parts that fit, and before
/// them a bar that fills the line, where there is room to see something in it. `share` of the bar
/// is done, 0 to 1; negative: nobody knows, no bar.
std::string terminal_line(double share, std::vector<LinePart> parts, int columns);

/// Does nothing where there is no terminal. One thread.
class TerminalLine {
 public:
  /// `terminal`: a descriptor of the terminal that shows `out`; negative where none does. Both must
  /// outlive the line.
  TerminalLine(std::FILE* out, int terminal) : out_(out), terminal_(terminal) {}
  ~TerminalLine() { clear(); }
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  bool is_on_terminal() const { return terminal_ >= 0; }
  /// The terminal's width now; the usual one where it does not say.
  int columns() const;
  /// Replaces the line that was drawn before. What does not fit is cut: a line that went on in the
  /// next one could not be redrawn.
  void draw(const std::string& line);
  void clear();

 private:
  std::FILE* out_;
  int terminal_;
  bool is_shown_ = false;
};

}  // namespace tenax::app
