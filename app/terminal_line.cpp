#include "app/terminal_line.hpp"

#include <sys/ioctl.h>

#include <algorithm>

namespace tenax::app {

namespace {

std::string joined(const std::vector<LinePart>& parts) {
  std::string text;
  for (const LinePart& part : parts) text += (text.empty() ? "" : ", ") + part.text;
  return text;
}

/// "[###.] " of `room` columns; nothing where that is too little.
std::string bar(double share, int room) {
  constexpr int kFrame = 3, kLeast = 4;
  const int width = room - kFrame;
  if (width < kLeast) return {};
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width);
  return "[" + std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '.') + "] ";
}

}  // namespace

std::string terminal_line(double share, std::vector<LinePart> parts, int columns) {
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 0));
  while (parts.size() > 1 && joined(parts).size() > room)
    parts.erase(std::max_element(parts.begin(), parts.end(),
                                 [](const auto& a, const auto& b) { return a.rank < b.rank; }));
  const std::string text = joined(parts).substr(0, room);
  return share < 0 ? text : bar(share, static_cast<int>(room - text.size())) + text;
}

int TerminalLine::columns() const {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(terminal_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void TerminalLine::draw(const std::string& line) {
  if (!is_on_terminal()) return;
  std::fprintf(out_, "\r\033[K%s", line.substr(0, static_cast<std::size_t>(columns() - 1)).c_str());
  std::fflush(out_);
  is_shown_ = true;
}

void TerminalLine::clear() {
  if (is_shown_) std::fputs("\r\033[K", out_);
  is_shown_ = false;
}

}  // namespace tenax::app
