// As news travel to rank 0: a line each, its words between tabs.
#include "app/training/path_news.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "io/json.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {
namespace {

using comm::Reroute;
using comm::VerbsPortChange;

constexpr char kTab = '\t';
const std::string kPort = "port", kReroute = "reroute";

/// The next word of a line; empty where there is none.
std::string take_text(std::string_view& line) { return std::string(kernels::take_word(line, kTab)); }

template <class Number>
Number take_number(std::string_view& line, const char* what) {
  return kernels::sent_number<Number>(kernels::take_word(line, kTab), what);
}

/// What is one event.
struct Routes {
  std::vector<std::int64_t> ranks;
  std::string from, to, reason;
  auto operator<=>(const Routes&) const = default;
};
struct Sums {
  double seconds = 0;  ///< the longest
  std::int64_t resent = 0, connections = 0;
};

/// Everything that the ranks have told of one step.
class Told {
 public:
  Told(std::int64_t step, const WriteEvent& write) : step_(step), write_(write) {}

  /// Throws Error(rank) where no rank of ours has written the line.
  void add(std::string_view line) {
    const std::string kind = take_text(line);
    const auto rank = take_number<std::int64_t>(line, "its rank");
    if (kind == kPort) return write_port(rank, line);
    const auto peer = take_number<std::int64_t>(line, "its peer's rank");
    Routes routes{{rank, peer}, take_text(line), take_text(line), take_text(line)};
    Sums& sums = reroutes_[std::move(routes)];
    sums.seconds = std::max(sums.seconds, take_number<double>(line, "the seconds of a reroute"));
    sums.resent += take_number<std::int64_t>(line, "the messages that it sent again");
    ++sums.connections;
  }
  void write_reroutes() const {
    for (const auto& [routes, sums] : reroutes_)
      write_(step_, kReroute,
             io::JsonObject{}
                 .add("ranks", routes.ranks)
                 .add("from", routes.from)
                 .add("to", routes.to)
                 .add("reason", routes.reason)
                 .add("seconds", sums.seconds)
                 .add("resent", sums.resent)
                 .add("connections", sums.connections));
  }

 private:
  void write_port(std::int64_t rank, std::string_view line) const {
    io::JsonObject details;
    details.add("rank", rank);
    for (const char* const name : {"host", "port", "state"}) details.add(name, take_text(line));
    const std::string reason = take_text(line);
    reason.empty() ? details.add_json("reason", "null") : details.add("reason", reason);
    write_(step_, kPort, details);
  }

  const std::int64_t step_;
  const WriteEvent& write_;
  std::map<Routes, Sums> reroutes_;
};

}  // namespace

void PathNews::take(const VerbsPortChange& change) {
  const std::lock_guard lock(mutex_);
  ports_.push_back(change);
}

void PathNews::take(const Reroute& reroute) {
  const std::lock_guard lock(mutex_);
  reroutes_.push_back(reroute);
}

bool PathNews::any() const {
  const std::lock_guard lock(mutex_);
  return !ports_.empty() || !reroutes_.empty();
}

std::string PathNews::take_text() {
  std::ostringstream text;
  const std::lock_guard lock(mutex_);
  for (const VerbsPortChange& change : std::exchange(ports_, {}))
    text << kPort << kTab << rank_ << kTab << host_ << kTab << change.port << kTab << change.state << kTab
         << change.reason << '\n';
  for (const Reroute& reroute : std::exchange(reroutes_, {}))
    text << kReroute << kTab << rank_ << kTab << reroute.peer << kTab << reroute.from << kTab << reroute.to
         << kTab << reroute.reason << kTab << reroute.seconds << kTab << reroute.resent << '\n';
  return text.str();
}

void PathNews::write(comm::ControlGroup& control, std::int64_t step, const WriteEvent& write) {
  const std::vector<std::string> texts = control.all_gather(take_text());
  if (control.rank() != 0) return;
  Told told(step, write);
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) told.add(line);
  }
  told.write_reroutes();
}

}  // namespace tenax::app
