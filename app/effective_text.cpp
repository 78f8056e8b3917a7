#include "app/effective_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/units.hpp"
#include "io/run/launch_events.hpp"
#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "resilience/effective_time/recorded_time.hpp"

namespace tenax::app {

using resilience::LostCause;
using resilience::TimeByCause;

namespace {

struct Loss {
  std::string cause;
  double seconds = 0;
};

/// The longest first.
std::vector<Loss> losses(const TimeByCause& time) {
  constexpr double kWorthTelling = 1e-3;
  std::vector<Loss> found;
  for (std::size_t i = 0; i < resilience::kLostCauses; ++i) {
    const auto cause = static_cast<LostCause>(i);
    std::string name = resilience::name_of(cause);
    std::replace(name.begin(), name.end(), '_', ' ');
    if (time.lost_s(cause) >= kWorthTelling * time.wall_s()) found.push_back({name, time.lost_s(cause)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  return found;
}

std::string share(const TimeByCause& time, double seconds) {
  return format("%.1f s, %.1f %%", seconds, 100 * seconds / time.wall_s());
}

/// What replicas have told of what was slow.
class ToldFigures {
 public:
  /// The events of one replica, all its incarnations', in their order.
  void add(const std::vector<io::LaunchEvent>& events, double begin_s) {
    double started_s = begin_s, acted_s = 0;
    for (const io::LaunchEvent& event : events) {
      if (event.time_s < begin_s) continue;
      if (event.event == "mitigate" || event.event == "revert") acted_s += event.number("cost_seconds");
      const bool is_end = event.event == "end";
      if (!is_end && event.event != "start") continue;
      if (is_end) {
        acted_s = event.number("mitigation_seconds");  // with actions that failed
        trained_s_ += event.time_s - started_s;
        tracking_s_ += event.number("tracking_share") * (event.time_s - started_s);
      }
      started_s = event.time_s;
      mitigation_s_ += std::exchange(acted_s, 0);
    }
    mitigation_s_ += acted_s;
  }
  double tracking_share() const { return trained_s_ > 0 ? tracking_s_ / trained_s_ : 0; }
  double mitigation_s() const { return mitigation_s_; }

 private:
  double trained_s_ = 0, tracking_s_ = 0, mitigation_s_ = 0;
};

double rounded(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

io::JsonObject effective_details(const TimeByCause& time) {
  io::JsonObject lost;
  for (std::size_t i = 0; i < resilience::kLostCauses; ++i) {
    const auto cause = static_cast<LostCause>(i);
    lost.add(resilience::name_of(cause), rounded(time.lost_s(cause)));
  }
  return io::JsonObject{}
      .add("effective_percent", rounded(time.effective_percent()))
      .add("lost_seconds", lost);
}

io::JsonObject fail_slow_details(const std::vector<std::filesystem::path>& replica_directories,
                                 double begin_s) {
  ToldFigures figures;
  for (const auto& directory : replica_directories) figures.add(io::read_launch_events(directory), begin_s);
  return io::JsonObject{}
      .add("tracking_share", figures.tracking_share())
      .add("mitigation_seconds", rounded(figures.mitigation_s()));
}

std::string effective_line(const TimeByCause& time) {
  std::string line = format("effective %.1f %% of %.1f s", time.effective_percent(), time.wall_s());
  for (const Loss& loss : losses(time))
    line += format("%s %s %.1f s", line.find(';') == std::string::npos ? "; lost:" : ",", loss.cause.c_str(),
                   loss.seconds);
  return line;
}

resilience::EffectiveTime::Options effective_options(const io::Deck& deck, double begin_s) {
  return {.begin_s = begin_s,
          .replicas = static_cast<int>(deck.parallel.replicas),
          .global_batch = deck.batch.global_batch_size};
}

std::string effective_summary(const std::filesystem::path& run_directory) {
  std::string text;
  io::read_text_file(run_directory / "deck.toml", text);
  try {
    const auto recorded =
        resilience::read_recorded_time(run_directory, effective_options(io::parse_resolved_deck(text), 0));
    if (!recorded) return {};
    const TimeByCause time(recorded->spans());
    std::string lines = io::listed("effective", share(time, time.useful_s()));
    for (const Loss& loss : losses(time))
      lines += io::listed("lost to " + loss.cause, share(time, loss.seconds));
    return lines;
  } catch (const kernels::Error&) {  // no deck, or one of another version
    return {};
  }
}

}  // namespace tenax::app
