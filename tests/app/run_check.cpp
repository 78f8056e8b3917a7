// Compares what runs wrote, for the scripts beside this file. Status 0 if the claim holds, else 1 and why on stderr.
//
//   run_check expected METRICS.jsonl EXPECTED.json LOSS_TOLERANCE NORM_TOLERANCE   relative, every step
//   run_check close METRICS_A METRICS_B TOLERANCE                                   losses of the steps both have
//   run_check same METRICS_A METRICS_B                                              losses and norms, to the last bit
//   run_check steps METRICS COUNT                                                   each step 0 … COUNT − 1 once
//   run_check trace TRACE.json MESSAGES [NAME…]    well-formed, with so many arrows, and on each rank slices of these names
//   run_check effective RUN_DIRECTORY SHARE        the causes of `end` are the run's time since its launch, what they say is what the
//                                                  ledger's steps took longer than usual, and of the rest so much was useful
//   run_check weights A.safetensors B.safetensors TOLERANCE                         absolute; keys of c_attn.bias left out
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/hugging_face/safetensors.hpp"
#include "tests/app/trace_claim.hpp"

namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

struct Step {
  std::string loss_text, norm_text;  // as written: shortest round-trip form, so equal text is equal bits
  double loss = 0, norm = 0;
};

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

std::map<long, Step> read_metrics(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) fail("cannot open " + file);
  std::map<long, Step> steps;
  for (std::string line; std::getline(stream, line);) {
    const json entry = json::parse(line);
    if (!entry.contains("loss")) continue;
    const long step = entry.at("step");
    Step value{entry.at("loss").dump(), entry.at("grad_norm").dump()};
    value.loss = entry.at("loss").is_null() ? NAN : entry.at("loss").get<double>();
    value.norm = entry.at("grad_norm").is_null() ? NAN : entry.at("grad_norm").get<double>();
    if (!steps.emplace(step, value).second) fail(file + " has step " + std::to_string(step) + " twice");
  }
  if (steps.empty()) fail(file + " has no training steps");
  return steps;
}

void check(const char* what, long step, double got, double wanted, double tolerance) {
  if (std::abs(got - wanted) <= tolerance * std::abs(wanted)) return;
  char text[200];
  std::snprintf(text, sizeof text, "%s of step %ld is %.12g, wanted %.12g within %g", what, step, got, wanted,
                tolerance);
  fail(text);
}

void expected(const Arguments& a) {
  const auto steps = read_metrics(a.at(0));
  const json wanted = json::parse(std::ifstream(a.at(1)));
  if (steps.size() != wanted.at("loss").size()) fail("another number of steps");
  for (const auto& [step, value] : steps) {
    const auto i = static_cast<std::size_t>(step);
    check("loss", step, value.loss, wanted.at("loss").at(i), std::stod(a.at(2)));
    check("gradient norm", step, value.norm, wanted.at("grad_norm").at(i), std::stod(a.at(3)));
  }
}

void close_losses(const Arguments& a) {
  const auto first = read_metrics(a.at(0)), second = read_metrics(a.at(1));
  int compared = 0;
  for (const auto& [step, value] : first)
    if (const auto other = second.find(step); other != second.end()) {
      check("loss", step, value.loss, other->second.loss, std::stod(a.at(2)));
      ++compared;
    }
  if (compared == 0) fail("no step in common");
}

void same(const Arguments& a) {
  const auto first = read_metrics(a.at(0)), second = read_metrics(a.at(1));
  if (first.size() != second.size()) fail("another number of steps");
  for (const auto& [step, value] : first) {
    const Step& other = second.at(step);
    if (value.loss_text != other.loss_text || value.norm_text != other.norm_text)
      fail("step " + std::to_string(step) + ": " + value.loss_text + " is not " + other.loss_text);
  }
}

void steps(const Arguments& a) {
  const auto found = read_metrics(a.at(0));
  const long count = std::stol(a.at(1));
  if (static_cast<long>(found.size()) != count || found.begin()->first != 0 ||
      found.rbegin()->first != count - 1)
    fail("has " + std::to_string(found.size()) + " steps up to " + std::to_string(found.rbegin()->first));
}

void trace(const Arguments& a) { check_trace(a.at(0), std::stol(a.at(1)), {a.begin() + 2, a.end()}); }

void weights(const Arguments& a) {
  const tenax::io::SafetensorsReader first(a.at(0)), second(a.at(1));
  if (first.entries().size() != second.entries().size()) fail("another number of tensors");
  for (const auto& entry : first.entries()) {
    const auto other = std::find_if(second.entries().begin(), second.entries().end(),
                                    [&](const auto& candidate) { return candidate.name == entry.name; });
    if (other == second.entries().end()) fail("no tensor " + entry.name);
    std::size_t size = 1;
    for (const auto extent : entry.shape) size *= static_cast<std::size_t>(extent);
    std::vector<float> x(size), y(size);
    first.read(entry, 0, x);
    second.read(*other, 0, y);
    const bool has_key = entry.name.ends_with("c_attn.bias");
    for (std::size_t i = 0; i < size; ++i) {
      if (has_key && i >= size / 3 && i < 2 * (size / 3)) continue;
      if (!(std::abs(x[i] - y[i]) <= std::stod(a.at(2))))
        fail(entry.name + "[" + std::to_string(i) + "] is " + std::to_string(x[i]) + ", wanted " +
             std::to_string(y[i]));
    }
  }
}

std::vector<json> lines_of(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) fail("cannot open " + file);
  std::vector<json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

/// When each step that counts was committed, and by how many replicas; at the front when the first epoch began.
struct Commits {
  std::vector<double> time_s;
  std::vector<std::size_t> contributing;
};

Commits commits_since(const std::string& ledger, double begin_s) {
  Commits commits;
  for (const json& line : lines_of(ledger)) {
    if (line.at("time") < begin_s) continue;
    if (line.contains("void_from")) fail("steps are void");
    if (line.contains("members") && !commits.time_s.empty()) continue;
    commits.time_s.push_back(line.at("time"));
    std::set<int> replicas;
    if (line.contains("parts"))
      for (const json& part : line.at("parts")) replicas.insert(part.at(0).get<int>());
    commits.contributing.push_back(replicas.size());
  }
  return commits;
}

/// What steps took longer than the median of those to which most replicas contribute, where that is a tenth or more.
double excess_s(const Commits& commits) {
  const std::size_t all = *std::max_element(commits.contributing.begin(), commits.contributing.end());
  std::vector<double> gaps, whole;
  for (std::size_t i = 1; i < commits.time_s.size(); ++i) {
    gaps.push_back(commits.time_s[i] - commits.time_s[i - 1]);
    if (commits.contributing[i] == all) whole.push_back(gaps.back());
  }
  std::sort(whole.begin(), whole.end());
  const double usual_s = whole.at(whole.size() / 2);
  double sum = 0;
  for (const double gap_s : gaps)
    if (gap_s > 1.1 * usual_s) sum += gap_s - usual_s;
  return sum;
}

// Under `shrink` the share of absent replicas makes no step longer.
void effective(const Arguments& a) {
  double begin_s = 0, percent = 0, end_s = 0;
  std::map<std::string, double> lost_s;
  for (const json& event : lines_of(a.at(0) + "/events.jsonl")) {
    if (event.at("event") == "launch" && event.at("adopted") == 0) begin_s = event.at("time");
    if (event.at("event") != "end") continue;
    end_s = event.at("time");
    percent = event.at("effective_percent");
    lost_s = event.at("lost_seconds").get<std::map<std::string, double>>();
  }
  const double wall_s = end_s - begin_s, useful_s = percent / 100 * wall_s;
  double sum = useful_s, told_s = 0;
  for (const auto& [cause, seconds] : lost_s) {
    if (seconds < 0) fail(cause + " is negative");
    sum += seconds;
    if (cause != "none_alive" && cause != "absent") told_s += seconds;
  }
  check("the sum of all causes", 0, sum, wall_s, 0.01);
  const Commits commits = commits_since(a.at(0) + "/ledger.jsonl", begin_s);
  const double excess = excess_s(commits), most_s = told_s + lost_s.at("absent");
  const double room_s = 0.1 * excess + 0.02 * wall_s;
  if (told_s > excess + room_s || most_s < excess - room_s)
    fail("the ledger's steps took " + std::to_string(excess) + " s longer than usual, " +
         std::to_string(told_s) + " s are said to be lost, and " + std::to_string(lost_s.at("absent")) +
         " s for want of replicas");
  const double trained_s = commits.time_s.back() - commits.time_s.at(1);
  if (useful_s < std::stod(a.at(1)) * trained_s)
    fail("only " + std::to_string(useful_s) + " s of " + std::to_string(trained_s) +
         " s after the first step were useful");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const Arguments&)>> claims = {
      {"expected", expected}, {"close", close_losses}, {"same", same},          {"steps", steps},
      {"trace", trace},       {"weights", weights},    {"effective", effective}};
  try {
    const Arguments arguments(argv + 1, argv + argc);
    claims.at(arguments.at(0))(Arguments(arguments.begin() + 1, arguments.end()));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_check %s: %s\n", argc > 1 ? argv[1] : "", error.what());
    return 1;
  }
}
