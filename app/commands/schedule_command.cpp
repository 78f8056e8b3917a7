#include "app/commands/commands.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/command_line.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "io/run/schedule_file.hpp"
#include "kernels/error.hpp"
#include "parallel/planner/planning_problem.hpp"
#include "parallel/planner/schedule_planner.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "parallel/schedule/gantt.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

struct Instance {
  int microbatches = 1;
  parallel::PipelineCosts costs;
  parallel::ActivationLimit limit;
};

Instance load_instance(const std::string& file) {
  const io::InstanceFile read = io::read_instance(file);
  Instance instance{read.microbatches, {}, {read.activation_limit, read.weight_share}};
  for (std::size_t s = 0; s < read.forward_ms.size(); ++s)
    instance.costs.stages.push_back(
        {read.forward_ms[s] * 1e-3, read.backward_input_ms[s] * 1e-3, read.backward_weight_ms[s] * 1e-3});
  for (const double delay_ms : read.link_delay_ms) instance.costs.link_delay_s.push_back(delay_ms * 1e-3);
  return instance;
}

parallel::PipelineSchedule load_schedule(const std::string& file, const Instance& instance) {
  const auto read = io::read_schedule(file);
  if (static_cast<int>(read.size()) != instance.costs.stage_count())
    throw Error(Scope::rank, file + ": has " + std::to_string(read.size()) +
                                 " stages where the instance has " +
                                 std::to_string(instance.costs.stage_count()));
  parallel::PipelineSchedule schedule;
  for (const auto& stage : read) {
    auto& ops = schedule.ops_of_stage.emplace_back();
    for (const io::ScheduleFileOp& op : stage)
      ops.push_back({parallel::pass_of_code(op.code).value(), op.microbatch});
  }
  return schedule;
}

/// A schedule and what is known of it, in the words of a schedule file.
struct Result {
  parallel::PipelineSchedule schedule;
  parallel::Timeline timeline;
  std::vector<int> warmup;
  double makespan_ms = 0, lower_bound_ms = 0;
  bool optimal = false;
  std::vector<double> peak_activations;
};

// Sums of decimal milliseconds, freed of the last digits that binary seconds add.
double milliseconds(double seconds) { return std::round(seconds * 1e12) / 1e9; }

/// `bound_s`: the lower bound where it is known already, else 0.
Result examine(parallel::PipelineSchedule schedule, const Instance& instance,
               const parallel::TransferModel& transfers, double bound_s = 0) {
  Result result;
  result.timeline = parallel::simulate(schedule, instance.costs, transfers);
  const double makespan_s = result.timeline.makespan_s;
  if (bound_s <= 0)
    bound_s = parallel::makespan_lower_bound_s(instance.microbatches, instance.costs, instance.limit);
  bound_s = std::min(makespan_s, bound_s);
  result.makespan_ms = milliseconds(makespan_s);
  result.lower_bound_ms = milliseconds(bound_s);
  result.optimal = parallel::meets_bound(makespan_s, bound_s);
  result.warmup = parallel::warmup_of(schedule);
  for (int stage = 0; stage < schedule.stages(); ++stage)
    result.peak_activations.push_back(
        parallel::peak_activations(schedule, stage, instance.limit.weight_share));
  result.schedule = std::move(schedule);
  return result;
}

std::string json_of(const Result& result) {
  std::vector<std::vector<io::ScheduleFileOp>> stages;
  for (const auto& ops : result.schedule.ops_of_stage) {
    auto& stage = stages.emplace_back();
    for (const parallel::PipelineOp& op : ops) stage.push_back({parallel::code_of(op.pass), op.microbatch});
  }
  io::JsonObject rest;
  rest.add("warmup", std::vector<std::int64_t>(result.warmup.begin(), result.warmup.end()));
  rest.add("makespan_ms", result.makespan_ms).add("lower_bound_ms", result.lower_bound_ms);
  rest.add("optimal", result.optimal).add("bubble_rate", result.timeline.bubble_rate);
  rest.add("peak_activations", result.peak_activations);
  return "{\"stages\":" + io::schedule_stages_json(stages) + "," + rest.text().substr(1);
}

void print_text(const Result& result) {
  std::printf("makespan %.6g ms, lower bound %.6g ms%s\n", result.makespan_ms, result.lower_bound_ms,
              result.optimal ? ": optimal" : "");
  std::printf("%5s %8s %8s %17s\n", "stage", "warm-up", "bubble", "peak activations");
  for (std::size_t stage = 0; stage < result.warmup.size(); ++stage)
    std::printf("%5zu %8d %7.1f%% %17.4g\n", stage, result.warmup[stage],
                100 * result.timeline.bubble_rate[stage], result.peak_activations[stage]);
  constexpr std::size_t kMostRows = 32;
  if (result.warmup.size() <= kMostRows)
    std::printf("\n%s", parallel::draw_gantt(result.schedule, result.timeline).c_str());
}

[[noreturn]] void wrong(const std::string& sentence) {
  throw Error(Scope::usage, "schedule: " + sentence + " (see tenax schedule --help)");
}

void check_options(const CommandLine& line) {
  if (line.has("policy") == line.has("evaluate"))
    wrong("give one of --policy NAME and --evaluate SCHEDULE.json");
  if (line.has("budget-ms") && line.has("budget-evaluations"))
    wrong("--budget-ms and --budget-evaluations exclude each other");
  for (const char* option : {"budget-ms", "budget-evaluations", "seed", "out"})
    if (line.has("evaluate") && line.has(option)) wrong(std::string("--") + option + " belongs to --policy");
  if (line.has("policy") && line.has("send-queue")) wrong("--send-queue belongs to --evaluate");
  if (line.has("policy") && !line.has("out") && !line.has("json")) wrong("--out SCHEDULE.json is missing");
  for (const char* option : {"out", "svg"})
    if (line.has(option) && line.text(option, "").empty())
      wrong(std::string("--") + option + " needs a file");
}

/// The command line's numbers and names, all checked before any file is read.
struct Options {
  const parallel::SchedulePolicy* policy = nullptr;  ///< of --policy
  parallel::PlanBudget budget;
  std::uint64_t seed = 1;
  parallel::TransferModel transfers;
};

Options read_options(const CommandLine& line) {
  constexpr double kLongest_ms = 1e7;
  check_options(line);
  Options options;
  if (line.has("policy")) options.policy = &parallel::policy_of_name(line.text("policy", ""));
  options.budget.seconds = line.real("budget-ms", 100, 0.001, kLongest_ms) * 1e-3;
  options.budget.evaluations = line.integer("budget-evaluations", 0, 1, INT64_MAX);
  options.seed = static_cast<std::uint64_t>(line.integer("seed", 1, 0, INT64_MAX));
  if (line.has("send-queue")) options.transfers.kind = parallel::TransferModel::Kind::send_queue;
  options.transfers.queue_depth = static_cast<int>(line.integer("send-queue", 1, 1, INT32_MAX));
  return options;
}

Result plan(const Options& options, const Instance& instance, const std::string& file) {
  if (options.policy->follows_delays) {
    parallel::Plan adapted = parallel::plan_adaptive(
        {instance.microbatches, instance.costs, instance.limit, options.budget, options.seed});
    return examine(std::move(adapted.schedule), instance, {}, adapted.lower_bound_s);
  }
  try {
    return examine(
        parallel::plan_schedule(*options.policy, instance.microbatches, instance.costs, instance.limit),
        instance, {});
  } catch (const Error& error) {  // what does not fit is the instance's limit: a file's fault
    throw Error(Scope::rank, file + ": " + error.what());
  }
}

Result evaluate(const Options& options, const Instance& instance, const std::string& file) {
  parallel::PipelineSchedule schedule = load_schedule(file, instance);
  try {
    parallel::validate(schedule, instance.microbatches, instance.limit, parallel::WeightOrder::any);
  } catch (const Error& error) {
    throw Error(Scope::rank, file + ": " + error.what());
  }
  return examine(std::move(schedule), instance, options.transfers);
}

}  // namespace

int schedule_command(const std::vector<std::string>& arguments) {
  const CommandLine line(
      {"schedule",
       {"policy", "budget-ms", "budget-evaluations", "seed", "out", "svg", "evaluate", "send-queue"},
       {"json"},
       1,
       1},
      arguments);
  const Options options = read_options(line);
  const std::string& file = line.positional().front();
  const Instance instance = load_instance(file);
  const Result result = line.has("policy") ? plan(options, instance, file)
                                           : evaluate(options, instance, line.text("evaluate", ""));
  if (line.has("out")) io::write_text_file(line.text("out", ""), json_of(result) + "\n");
  if (line.has("svg")) {
    const std::string title = format("%s, %d microbatches: %.6g ms", line.text("policy", "schedule").c_str(),
                                     instance.microbatches, result.makespan_ms);
    io::write_text_file(line.text("svg", ""),
                        parallel::draw_gantt_svg(result.schedule, result.timeline, title));
  }
  if (line.has("json"))
    std::printf("%s\n", json_of(result).c_str());
  else
    print_text(result);
  return 0;
}

}  // namespace tenax::app
