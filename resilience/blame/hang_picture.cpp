#include "resilience/blame/hang_picture.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "resilience/blame/suspicion.hpp"

namespace tenax::resilience {
namespace {

constexpr int kMostInColumn = 24, kMostColumns = 12;
constexpr double kBoxWidth = 168, kBoxHeight = 34, kGapX = 120, kGapY = 12, kLeft = 16, kTop = 64;

// Plain colours, for viewers without CSS variables.
constexpr const char* kStyle = R"(<style>
  .hang { font: 11px system-ui, sans-serif; } .hang .paper { fill: #ffffff; } .hang text { fill: #1c2530; }
  .hang .rank { fill: #e4e8ed; stroke: #8b96a3; } .hang .culprit { fill: #f2c4bd; stroke: #b3362a; }
  .hang .wait { stroke: #8b96a3; fill: none; } .hang .title { font-size: 15px; font-weight: 600; }
  .hang .small { font-size: 9.5px; }
  @media (prefers-color-scheme: dark) {
    .hang .paper { fill: #14181d; } .hang text { fill: #e6eaf0; } .hang .rank { fill: #2a313a; stroke: #77828f; }
    .hang .culprit { fill: #6d2a22; stroke: #e2796b; } .hang .wait { stroke: #77828f; }
  }
</style>
)";

std::string whole(double value) { return std::to_string(static_cast<long>(value)); }

std::string escaped_for_svg(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

std::string words_at(double x, double y, const std::string& kind, const std::string& text) {
  return "<text class=\"" + kind + "\" x=\"" + whole(x) + "\" y=\"" + whole(y) + "\">" +
         escaped_for_svg(text) + "</text>\n";
}

class Drawing {
 public:
  Drawing(const HangDump& dump, const Blame& blame)
      : dump_(dump),
        blame_(blame),
        graph_(wait_graph(dump)),
        suspicions_(dump, graph_),
        column_(dump.ranks.size(), -1) {}

  std::string draw() {
    place();
    std::string body;
    for (std::size_t column = 0; column < columns_.size(); ++column) body += boxes(static_cast<int>(column));
    const double width = x_of(0) + kBoxWidth + kLeft,
                 height = kTop + rows_shown() * (kBoxHeight + kGapY) + kLeft;
    const std::string title = blame_.culprits.empty() ? "Nobody waits" : "All wait for " + blame_.operation;
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hang\" role=\"img\" viewBox=\"0 0 " +
           whole(width) + " " + whole(height) + "\">\n<title>" + escaped_for_svg(title) + "</title>\n" +
           kStyle + "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
           words_at(kLeft, 26, "title", title) + waits() + body + "</svg>\n";
  }

 private:
  // By the number of ranks on the way to a culprit.
  void place() {
    Successors before(graph_.next.size());
    for (std::size_t node = 0; node < graph_.next.size(); ++node)
      for (const int to : graph_.next[node])
        before[static_cast<std::size_t>(to)].push_back(static_cast<int>(node));
    std::vector<char> is_seen(graph_.next.size(), 0);
    std::vector<int> now;
    for (const Culprit& culprit : blame_.culprits) now.push_back(culprit.rank);
    while (!now.empty() && columns_.size() < kMostColumns) {
      columns_.emplace_back();
      std::vector<int> later;
      for (std::size_t i = 0; i < now.size(); ++i) {
        const auto node = static_cast<std::size_t>(now[i]);
        if (std::exchange(is_seen[node], char{1})) continue;
        if (graph_.is_rank(now[i])) put(now[i]);
        auto& next = graph_.is_rank(now[i]) ? now : later;
        next.insert(next.end(), before[node].begin(), before[node].end());
      }
      now = std::move(later);
      if (columns_.back().empty()) columns_.pop_back();
    }
  }
  void put(int rank) {
    column_[static_cast<std::size_t>(rank)] = static_cast<int>(columns_.size()) - 1;
    row_[rank] = static_cast<int>(columns_.back().size());
    columns_.back().push_back(rank);
  }

  double x_of(int column) const {
    return kLeft + static_cast<double>(static_cast<int>(columns_.size()) - 1 - column) * (kBoxWidth + kGapX);
  }
  static double y_of(int row) { return kTop + row * (kBoxHeight + kGapY); }
  double rows_shown() const {
    std::size_t most = 1;
    for (const auto& column : columns_)
      most = std::max(most, std::min<std::size_t>(column.size(), kMostInColumn + 1));
    return static_cast<double>(most);
  }
  bool is_shown(int rank) const {
    return column_[static_cast<std::size_t>(rank)] >= 0 && row_.at(rank) < kMostInColumn;
  }
  const Culprit* culprit(int rank) const {
    const auto found = std::find_if(blame_.culprits.begin(), blame_.culprits.end(),
                                    [&](const Culprit& known) { return known.rank == rank; });
    return found == blame_.culprits.end() ? nullptr : &*found;
  }

  std::string boxes(int column) const {
    const auto& ranks = columns_[static_cast<std::size_t>(column)];
    std::string text;
    for (std::size_t row = 0; row < ranks.size() && row < kMostInColumn; ++row) text += box(ranks[row]);
    if (ranks.size() > kMostInColumn)
      text += words_at(x_of(column) + 8, y_of(kMostInColumn) + 20, "more",
                       "and " + std::to_string(ranks.size() - kMostInColumn) + " more");
    return text;
  }

  std::string box(int rank) const {
    const HangDump::Rank& who = dump_.ranks[static_cast<std::size_t>(rank)];
    const Culprit* const named = culprit(rank);
    const double x = x_of(column_[static_cast<std::size_t>(rank)]), y = y_of(row_.at(rank));
    const OpenOperation* const at = innermost(who);
    std::string what = named ? named->operation
                       : at  ? name_of(at->kind) + std::string(" ") + at->label
                             : "waits";
    constexpr std::size_t kMostLetters = 34;
    const std::string tooltip = what;
    if (what.size() > kMostLetters) what = what.substr(0, kMostLetters - 3) + "...";
    return "<rect class=\"" + std::string(named ? "culprit" : "rank") + "\" x=\"" + whole(x) + "\" y=\"" +
           whole(y) + "\" width=\"" + whole(kBoxWidth) + "\" height=\"" + whole(kBoxHeight) +
           "\" rx=\"4\"><title>" + escaped_for_svg(tooltip) + "</title></rect>\n" +
           words_at(x + 8, y + 14, "name",
                    "replica " + std::to_string(who.replica) + ", rank " + std::to_string(who.rank) + " (" +
                        who.host + ")") +
           words_at(x + 8, y + 27, "small", what);
  }

  // A line from each rank to those that its operation waits for.
  std::string waits() const {
    std::string text;
    for (int rank = 0; rank < graph_.ranks(); ++rank) {
      if (!is_shown(rank)) continue;
      for (const int point : graph_.next[static_cast<std::size_t>(rank)])
        for (const int other : graph_.next[static_cast<std::size_t>(point)])
          if (is_shown(other) &&
              column_[static_cast<std::size_t>(other)] < column_[static_cast<std::size_t>(rank)])
            text += wait(rank, other, suspicions_.name_of_point(point));
    }
    return text;
  }
  std::string wait(int from, int to, const std::string& operation) const {
    const double x1 = x_of(column_[static_cast<std::size_t>(from)]) + kBoxWidth,
                 y1 = y_of(row_.at(from)) + kBoxHeight / 2;
    const double x2 = x_of(column_[static_cast<std::size_t>(to)]), y2 = y_of(row_.at(to)) + kBoxHeight / 2;
    return "<path class=\"wait\" d=\"M" + whole(x1) + " " + whole(y1) + " L" + whole(x2) + " " + whole(y2) +
           "\"><title>" + escaped_for_svg(operation) + "</title></path>\n";
  }

  const HangDump& dump_;
  const Blame& blame_;
  const WaitGraph graph_;
  const LeafSuspicions suspicions_;
  std::vector<int> column_;  // by rank, from the right; −1: none
  std::map<int, int> row_;   // by rank
  std::vector<std::vector<int>> columns_;
};

}  // namespace

std::string draw_hang_svg(const HangDump& dump, const Blame& blame) { return Drawing(dump, blame).draw(); }

}  // namespace tenax::resilience
