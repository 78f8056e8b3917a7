#include "app/report/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "app/options.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/layout.hpp"
#include "resilience/adaptation/delay_estimator.hpp"

namespace tenax::app {

namespace {

using kernels::Error;

constexpr std::size_t kMostEventsOfKind = 400;
constexpr int kBins = 40;

// Six digits are more than a screen shows, and make the page a third as long.
std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values)
    if (std::isfinite(value)) value = std::strtod(format("%.6g", value).c_str(), nullptr);
  return values;
}

io::JsonObject curve_json(const std::vector<double>& x, const std::vector<double>& y, double factor = 1) {
  Curve curve = decimated(x, y);
  const auto scaled = [&](std::vector<double> values) {
    for (double& value : values) value *= factor;
    return rounded(std::move(values));
  };
  io::JsonObject object;
  object.add("x", curve.x).add("y", scaled(curve.y));
  if (!curve.low.empty()) object.add("low", scaled(curve.low)).add("high", scaled(curve.high));
  return object;
}

/// Of a kind with very many events every second one, every third, …
std::vector<io::JsonObject> events_json(const std::vector<io::EventLine>& events) {
  std::map<std::string, std::size_t> count, seen;
  for (const io::EventLine& line : events) ++count[line.event];
  std::vector<io::JsonObject> list;
  for (const io::EventLine& line : events) {
    if (seen[line.event]++ % (count[line.event] / kMostEventsOfKind + 1) != 0) continue;
    list.push_back(io::JsonObject{}
                       .add("time", line.time_s - events.front().time_s)
                       .add("step", line.step)
                       .add("event", line.event)
                       .add("place", line.place)
                       .add("details", line.details));
  }
  return list;
}

std::string ending(const std::vector<io::EventLine>& events) {
  const auto last = std::find_if(events.rbegin(), events.rend(), [](const io::EventLine& line) {
    const bool is_either = line.event == "end" || line.event == "start" || line.event == "resume";
    return !line.is_of_replica && (is_either || line.event == "launch");
  });
  if (last == events.rend()) return "nothing recorded";
  return last->event == "end" ? last->reason : "running, or was killed";
}

/// What stands on the axes beside the step: tokens and seconds at the end of some of the steps, for the script to interpolate.
io::JsonObject axes_json(const io::RunSeries& series) {
  const std::size_t n = series.step.size(), points = std::min(n, kCurveStretches);
  std::vector<double> elapsed_s(n), step, tokens, seconds;
  for (std::size_t i = 0; i < n; ++i)
    elapsed_s[i] =
        (i > 0 ? elapsed_s[i - 1] : 0) + (std::isfinite(series.seconds[i]) ? series.seconds[i] : 0);
  for (std::size_t k = 0; k < points; ++k) {
    const std::size_t i = points > 1 ? k * (n - 1) / (points - 1) : 0;
    step.push_back(series.step[i]);
    tokens.push_back(series.tokens_seen[i]);
    seconds.push_back(elapsed_s[i]);
  }
  return io::JsonObject{}.add("step", step).add("tokens", tokens).add("seconds", rounded(seconds));
}

/// Of a run without a supervisor 1.
std::int64_t replicas_of(const RunData& run) {
  if (run.deck) return run.deck->parallel.replicas;
  std::int64_t most = 1;
  for (const double replicas : run.series.replicas)
    if (std::isfinite(replicas)) most = std::max(most, static_cast<std::int64_t>(replicas));
  return most;
}

double last_of(const std::vector<double>& values) { return values.empty() ? std::nan("") : values.back(); }

io::JsonObject run_json(const RunData& run) {
  const io::RunSeries& s = run.series;
  const double rate = median(s.tokens_per_second);
  double seconds = 0;
  for (const double step_s : s.seconds) seconds += std::isfinite(step_s) ? step_s : 0;
  io::JsonObject curves, object;
  curves.add("loss", curve_json(s.step, s.loss));
  curves.add("validation", curve_json(s.validation_step, s.validation_loss));
  curves.add("lr", curve_json(s.step, s.lr)).add("grad_norm", curve_json(s.step, s.grad_norm));
  curves.add("rate", curve_json(s.step, s.tokens_per_second));
  curves.add("replicas", curve_json(s.step, s.replicas));
  if (run.flop_per_token > 0)
    curves.add("flops", curve_json(s.step, s.tokens_per_second, run.flop_per_token));
  object.add("name", run.label).add("directory", run.directory.string()).add("ending", ending(run.events));
  object.add("steps", static_cast<std::int64_t>(s.step.size()))
      .add("tokens", s.tokens_seen.empty() ? 0 : s.tokens_seen.back());
  if (run.deck)
    object.add("train_steps", run.deck->run.train_steps)
        .add("ranks", run.deck->parallel.ranks() * run.deck->parallel.replicas);
  object.add("replicas", replicas_of(run));
  object.add("loss", last_of(s.loss)).add("validation_loss", last_of(s.validation_loss));
  object.add("step_s", median(s.seconds)).add("seconds", seconds).add("rate", rate);
  object.add("flops", rate * run.flop_per_token).add("curves", curves);
  object.add("axes", axes_json(s));
  return object.add("event_count", static_cast<std::int64_t>(run.events.size()))
      .add("events", events_json(run.events));
}

std::vector<double> finite(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

/// Where the bins end: at the slowest step, or before steps that are much slower than nearly all others and would flatten the
/// picture. `seconds`: sorted.
double last_edge(const std::vector<double>& seconds) {
  constexpr double kNearlyAll = 0.99, kMuchSlower = 1.5;
  const double slow = seconds[static_cast<std::size_t>(kNearlyAll * static_cast<double>(seconds.size() - 1))];
  return seconds.back() <= kMuchSlower * slow ? seconds.back() : slow;
}

io::JsonObject bins_json(const std::vector<double>& seconds, double low, double high) {
  std::vector<std::int64_t> bins(kBins, 0);
  std::int64_t beyond = 0;
  for (const double step_s : seconds) {
    if (!std::isfinite(step_s)) continue;
    const double place = (step_s - low) / (high - low) * kBins;
    if (step_s > high)
      ++beyond;
    else
      ++bins[static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0))];
  }
  return io::JsonObject{}.add("counts", bins).add("beyond", beyond);
}

io::JsonObject histogram_json(const std::vector<RunData>& runs) {
  double low = 0, high = 0, slowest = 0;
  for (const RunData& run : runs) {
    std::vector<double> seconds = finite(run.series.seconds);
    if (seconds.empty()) continue;
    std::sort(seconds.begin(), seconds.end());
    low = low == 0 ? seconds.front() : std::min(low, seconds.front());
    high = std::max(high, last_edge(seconds));
    slowest = std::max(slowest, seconds.back());
  }
  if (!(high > low)) high = low > 0 ? 1.1 * low : 1;
  std::vector<io::JsonObject> counts;
  for (const RunData& run : runs) counts.push_back(bins_json(run.series.seconds, low, high));
  return io::JsonObject{}.add("low", low).add("high", high).add("slowest", slowest).add("runs", counts);
}

/// The last `count` parts of a path.
std::string tail_of(const std::filesystem::path& path, std::ptrdiff_t count) {
  std::filesystem::path tail;
  const auto parts = std::distance(path.begin(), path.end());
  for (auto part = std::next(path.begin(), std::max<std::ptrdiff_t>(0, parts - count)); part != path.end();
       ++part)
    tail /= *part;
  return tail.string();
}

}  // namespace

double median(std::vector<double> values) { return resilience::quantile(finite(std::move(values)), 0.5); }

RunData load_run(const std::filesystem::path& directory) {
  RunData run;
  run.directory = directory;
  io::read_text_file(directory / "deck.toml", run.deck_text);  // empty where there is none
  io::read_text_file(directory / "simulation.svg", run.simulation);
  run.series = io::read_series(directory);
  run.events = io::read_events(directory);
  if (run.deck_text.empty() && run.series.step.empty() && run.events.empty())
    throw Error(
        kernels::Scope::rank,
        directory.string() + " is not a run directory: it has no deck.toml, metrics.jsonl or events.jsonl");
  run.deck = io::readable_deck(run.deck_text);
  run.name = run.label = run.deck ? run.deck->run.name : directory.filename().string();
  if (run.deck && !run.deck->model.is_placeholder)
    run.flop_per_token = gpt_config(run.deck->model).flop_per_token();
  return run;
}

void tell_apart(std::vector<RunData>& runs) {
  for (RunData& run : runs) {
    const auto is_namesake = [&](const RunData& other) { return &other != &run && other.name == run.name; };
    if (std::none_of(runs.begin(), runs.end(), is_namesake)) continue;
    std::ptrdiff_t parts = 1;
    const auto has_tail = [&](const RunData& other) {
      return is_namesake(other) && tail_of(other.directory, parts) == tail_of(run.directory, parts);
    };
    const auto all = std::distance(run.directory.begin(), run.directory.end());
    while (parts < all && std::any_of(runs.begin(), runs.end(), has_tail)) ++parts;
    run.label = run.name + " (" + tail_of(run.directory, parts) + ")";
  }
}

Curve decimated(const std::vector<double>& x, const std::vector<double>& y) {
  Curve all;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::isfinite(y[i]) && std::isfinite(x[i])) {
      all.x.push_back(x[i]);
      all.y.push_back(y[i]);
    }
  const std::size_t n = all.y.size();
  if (n <= 2 * kCurveStretches) return all;
  Curve seen;
  for (std::size_t stretch = 0; stretch < kCurveStretches; ++stretch) {
    const auto at = [&](std::size_t s) { return static_cast<std::ptrdiff_t>(n * s / kCurveStretches); };
    const auto begin = all.y.begin() + at(stretch), end = all.y.begin() + at(stretch + 1);
    const auto [low, high] = std::minmax_element(begin, end);
    seen.x.push_back(all.x[static_cast<std::size_t>((at(stretch) + at(stretch + 1)) / 2)]);
    seen.y.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
    seen.low.push_back(*low);
    seen.high.push_back(*high);
  }
  return seen;
}

std::string chart_data_json(const std::vector<RunData>& runs) {
  std::vector<io::JsonObject> list;
  for (const RunData& run : runs) list.push_back(run_json(run));
  return io::JsonObject{}.add("runs", list).add("histogram", histogram_json(runs)).text();
}

}  // namespace tenax::app
