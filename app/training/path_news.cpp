// As news travel to rank 0: a line each, its words between tabs.
#include "app/training/path_news.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "io/json.hpp"

namespace tenax::app {
namespace {

using comm::Reroute;
using comm::VerbsPortChange;

constexpr char kTab = '\t';
const std::string kPort = "port", kReroute = "reroute";

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, kTab);) words.push_back(word);
  return words;
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

  void add(const std::vector<std::string>& words) {
    if (words.front() == kPort) return write_port(words);
    Sums& sums = reroutes_[{{std::stoll(words[1]), std::stoll(words[2])}, words[3], words[4], words[5]}];
    sums.seconds = std::max(sums.seconds, std::stod(words[6]));
    sums.resent += std::stoll(words[7]);
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
  void write_port(const std::vector<std::string>& words) const {
    io::JsonObject details;
    details.add("rank", std::int64_t{std::stoll(words[1])})
        .add("host", words[2])
        .add("port", words[3])
        .add("state", words[4]);
    words.size() > 5 ? details.add("reason", words[5]) : details.add_json("reason", "null");
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
    for (std::string line; std::getline(lines, line);) told.add(words_of(line));
  }
  told.write_reroutes();
}

}  // namespace tenax::app
