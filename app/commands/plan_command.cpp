#include "app/commands/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "app/command_line.hpp"
#include "app/machine/device_choice.hpp"
#include "app/machine/host_check.hpp"
#include "app/machine/machine_rate.hpp"
#include "app/machine/registered_bytes.hpp"
#include "app/options.hpp"
#include "app/training/banner.hpp"
#include "app/units.hpp"
#include "io/file_names.hpp"
#include "io/json.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/emulated_device.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"
#include "parallel/replica/rehearsal.hpp"
#include "parallel/replica/swap_memory.hpp"
#include "parallel/schedule/gantt.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/mitigation/candidates.hpp"

namespace tenax::app {

namespace {

// The delay of one link, both ways and beyond what messages take anyway, up to which the iteration grows by at most 1 %, by
// bisection on the simulation.
double delay_tolerance_s(const parallel::Layout& layout, int link) {
  constexpr double kGrowth = 1.01;
  constexpr int kBisections = 40;
  parallel::PipelineCosts costs = layout.costs;
  costs.link_delay_s.resize(layout.spans.size() - 1, 0.0);
  double& delay_s = costs.link_delay_s[static_cast<std::size_t>(link)];
  const double healthy_s = delay_s;
  const double bound_s = kGrowth * parallel::simulate(layout.schedule, costs).makespan_s;
  double low = 0, high = bound_s;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    delay_s = healthy_s + middle;
    (parallel::simulate(layout.schedule, costs).makespan_s <= bound_s ? low : high) = middle;
  }
  return low;
}

std::vector<double> delay_tolerances_s(const parallel::Layout& layout) {
  std::vector<double> tolerances;
  for (int link = 0; link + 1 < layout.grid.pipeline; ++link)
    tolerances.push_back(delay_tolerance_s(layout, link));
  return tolerances;
}

io::JsonObject stage_json(const parallel::Layout& layout, std::size_t s) {
  const parallel::RankMemory& memory = layout.memory_of_stage[s];
  const parallel::StepTraffic& traffic = layout.traffic_of_stage[s];
  const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  io::JsonObject memory_json, traffic_json, stage;
  memory_json.add("weights", bytes(memory.state.weights)).add("gradients", bytes(memory.state.gradients));
  memory_json.add("optimizer", bytes(memory.state.optimizer)).add("activations", bytes(memory.activations));
  memory_json.add("scratch", bytes(memory.scratch)).add("workspace", bytes(memory.workspace));
  memory_json.add("probe", bytes(memory.probe)).add("total", bytes(memory.total()));
  memory_json.add("host", bytes(memory.host_state + memory.host_activations));
  traffic_json.add("tensor", traffic.tensor).add("pipeline", traffic.pipeline).add("data", traffic.data);
  traffic_json.add("replica_bytes", traffic.replica);
  stage.add("layers", layout.spans[s].end_layer - layout.spans[s].first_layer);
  stage.add("parameters_per_rank", layout.parameters_of_stage[s]);
  stage.add("live_microbatches", memory.slots);
  return stage.add("memory_bytes_per_rank", memory_json).add("bytes_sent_per_rank_and_step", traffic_json);
}

std::vector<std::string> schedule_rows(const parallel::PipelineSchedule& schedule) {
  std::vector<std::string> rows;
  for (const auto& ops : schedule.ops_of_stage) {
    std::string row;
    for (const parallel::PipelineOp& op : ops) row += (row.empty() ? "" : " ") + parallel::to_string(op);
    rows.push_back(row);
  }
  return rows;
}

/// Also one that this user may not see.
bool is_missing(const std::filesystem::path& file) {
  std::error_code unknown;
  return !std::filesystem::exists(file, unknown);
}

/// The names in [data] that stand for no file here. A plan needs none of them: the data may be on another machine.
std::vector<std::string> missing_data(const io::Deck& deck) {
  std::vector<std::string> missing;
  for (const auto* sources : {&deck.data.train, &deck.data.validation})
    for (const io::DataSource& source : *sources) try {
        for (const auto& file : io::token_files_of(source.file))
          if (is_missing(file)) missing.push_back(file.string());
      } catch (const kernels::Error&) {
        missing.push_back(source.file);
      }
  return missing;
}

/// What the deck allows against what becomes slow, and this layout leaves possible; whether there are other hosts to start
/// on is known where it runs.
std::vector<std::string> possible_strategies(const io::Deck& deck, const parallel::Layout& layout,
                                             const kernels::Device& device, bool swap_fits) {
  if (!may_mitigate(deck)) return {};
  const bool has_rings =
      device.kind() != kernels::DeviceKind::cpu || deck.device.kind == io::DeviceKind::cuda;  // on paper
  const resilience::Possibilities run{.allowed = allowed_strategies(deck.mitigate),
                                      .shape = layout.grid,
                                      .microbatches = layout.schedule.microbatches(),
                                      .most_microbatches = layout.most_microbatches,
                                      .rings = has_rings,
                                      .swap_fits = swap_fits,
                                      .spare_hosts = 1,
                                      .host_of_rank = {}};
  std::vector<std::string> names;
  for (const resilience::Strategy strategy : resilience::possible_strategies(run))
    names.emplace_back(resilience::name_of(strategy));
  return names;
}

/// "ring, swap", or why there are none.
std::string strategies_text(const io::Deck& deck, const std::vector<std::string>& names) {
  if (!may_mitigate(deck)) return std::string("nothing, ") + kNoMitigation;
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

/// What a run takes beside what its layout tells, bytes.
struct Besides {
  std::optional<std::size_t> swap;  ///< of a rank, for a change of places; none: no room, or no other
  std::size_t spare;                ///< of that, from the start on
  std::size_t host;                 ///< of all ranks, of their hosts' memory, `spare` with it

  Besides(const io::Deck& deck, const parallel::Layout& layout, const parallel::MemoryRoom& room,
          const kernels::Device& device)
      : swap(layout.grid.ranks() > 1 ? parallel::swap_bytes(layout, room) : std::nullopt),
        spare(spare_bytes(deck, layout, swap.has_value())),
        host(host_bytes(layout, device)) {
    if (device.is_host_memory()) host += spare * static_cast<std::size_t>(layout.grid.ranks());
  }
};

std::string plan_json(const io::Deck& deck, const parallel::Layout& layout, const DeviceChoice& choice,
                      double rate, const Besides& besides) {
  const parallel::Timeline timeline =
      parallel::simulate(layout.schedule, layout.costs, healthy_transfers(deck, layout));
  std::vector<io::JsonObject> stages;
  for (std::size_t s = 0; s < layout.spans.size(); ++s) stages.push_back(stage_json(layout, s));
  std::vector<double> tolerances_ms = delay_tolerances_s(layout);
  for (double& tolerance : tolerances_ms) tolerance *= 1e3;
  io::JsonObject parallel_json, plan;
  parallel_json.add("tensor", layout.grid.tensor).add("pipeline", layout.grid.pipeline);
  parallel_json.add("data", layout.grid.data).add("replicas", deck.parallel.replicas);
  plan.add("name", deck.run.name).add("output_dir", deck.run.output_dir);
  plan.add("device", choice.device->name()).add("note", choice.note).add("missing_data", missing_data(deck));
  plan.add("ranks", layout.grid.ranks()).add("threads", deck.device.threads).add("layout", parallel_json);
  if (deck.model.is_placeholder)
    plan.add_json("parameters", "null").add_json("flop_per_token", "null");  // of no model
  else
    plan.add("parameters", layout.config.parameters()).add("flop_per_token", layout.config.flop_per_token());
  plan.add("matmul_flop_per_second_per_rank", rate).add("microbatches", layout.schedule.microbatches());
  plan.add("host_memory_bytes", static_cast<std::int64_t>(besides.host));
  plan.add("registered_bytes", registered_bytes(deck, layout, *choice.device));
  plan.add_json("swap_bytes", besides.swap ? std::to_string(*besides.swap) : "null");
  plan.add("schedule", deck.pipeline.schedule.word())
      .add("schedule_of_stage", schedule_rows(layout.schedule));
  plan.add("predicted_iteration_ms", timeline.makespan_s * 1e3).add("bubble_rate", timeline.bubble_rate);
  plan.add("delay_tolerance_ms", tolerances_ms)
      .add("strategies", possible_strategies(deck, layout, *choice.device, besides.swap.has_value()));
  return plan.add("stages", stages).text();
}

std::string swap_text(const Besides& besides) {
  if (!besides.swap)
    return "ranks cannot change places while the run goes on: there is no room for both states of a rank";
  const std::string takes = "while ranks change places, each takes up to " +
                            bytes_text(static_cast<double>(*besides.swap - besides.spare)) + " more";
  if (besides.spare == 0) return takes;
  return takes + ", besides " + bytes_text(static_cast<double>(besides.spare)) +
         " that it keeps for that from the start on";
}

void print_text(const io::Deck& deck, const parallel::Layout& layout, const DeviceChoice& choice, double rate,
                const Besides& besides) {
  std::printf("%s\n",
              banner(deck, layout, *choice.device, rate * layout.grid.ranks(), besides.spare).c_str());
  if (!choice.note.empty()) std::printf("note     %s\n", choice.note.c_str());
  if (const auto missing = missing_data(deck); !missing.empty())
    std::printf("note     not on this machine, which a plan does not need: %s%s\n", missing.front().c_str(),
                missing.size() == 1 ? "" : format(" and %zu more", missing.size() - 1).c_str());
  std::printf(
      "\n%5s %7s %12s %5s %12s %12s %12s %12s %12s %12s   sent per rank and step: tensor, pipeline, data%s\n",
      "stage", "blocks", "parameters", "live", "state", "activations", "scratch", "workspace", "probe",
      "total", deck.parallel.replicas > 1 ? ", replicas" : "");
  for (std::size_t s = 0; s < layout.spans.size(); ++s) {
    const parallel::RankMemory& m = layout.memory_of_stage[s];
    const parallel::StepTraffic& t = layout.traffic_of_stage[s];
    const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
    std::printf("%5zu %7lld %12s %5d %12s %12s %12s %12s %12s %12s   %s, %s, %s%s\n", s,
                static_cast<long long>(layout.spans[s].end_layer - layout.spans[s].first_layer),
                count_text(static_cast<double>(layout.parameters_of_stage[s])).c_str(), m.slots,
                bytes(m.state.total()).c_str(), bytes(m.activations).c_str(), bytes(m.scratch).c_str(),
                bytes(m.workspace).c_str(), bytes(m.probe).c_str(), bytes(m.total()).c_str(),
                bytes_text(t.tensor).c_str(), bytes_text(t.pipeline).c_str(), bytes_text(t.data).c_str(),
                deck.parallel.replicas > 1 ? (", " + bytes_text(t.replica)).c_str() : "");
  }
  if (besides.host > 0)
    std::printf("\nall ranks%s take %s of host memory; %s are available here\n",
                deck.parallel.replicas > 1 ? " of a replica" : "",
                bytes_text(static_cast<double>(besides.host)).c_str(),
                bytes_text(static_cast<double>(kernels::available_memory_bytes())).c_str());
  if (layout.has_data && layout.grid.ranks() > 1) std::printf("%s\n", swap_text(besides).c_str());
  if (const auto threads = static_cast<long long>(deck.device.threads); threads > 1)
    std::printf(
        "a rank computes on %lld cores, bound by mpirun --map-by slot:PE=%lld --bind-to core, or "
        "srun --cpus-per-task=%lld\n",
        threads, threads, threads);
  const parallel::Timeline timeline =
      parallel::simulate(layout.schedule, layout.costs, healthy_transfers(deck, layout));
  std::printf(
      "\npredicted iteration %.4g ms %s\n", timeline.makespan_s * 1e3,
      layout.has_data ? "at this machine's matrix-product rate on every rank" : "by the deck's times");
  for (std::size_t s = 0; s < timeline.bubble_rate.size(); ++s)
    std::printf("%s%.1f%%", s == 0 ? "bubble rate of the stages: " : ", ", 100 * timeline.bubble_rate[s]);
  std::printf("\n");
  const std::vector<double> tolerances = delay_tolerances_s(layout);
  for (std::size_t link = 0; link < tolerances.size(); ++link)
    std::printf("link %zu-%zu tolerates a delay of %.4g ms at 1%% loss\n", link, link + 1,
                1e3 * tolerances[link]);
  const auto names = possible_strategies(deck, layout, *choice.device, besides.swap.has_value());
  std::printf("against what becomes slow: %s\n", strategies_text(deck, names).c_str());
  if (layout.grid.pipeline > 1) std::printf("\n%s", parallel::draw_gantt(layout.schedule, timeline).c_str());
}

struct Machine {
  DeviceChoice choice;
  parallel::MemoryRoom room;
};

// As a run does it, but for what communicators take: then memory is what a run finds.
void rehearse(const io::Deck& deck, DeviceChoice& choice, const parallel::ComputeHabits& habits) {
  const parallel::LayoutRequest request = layout_request(deck);
  std::set<int> stages = {0, request.grid.pipeline - 1};
  if (request.grid.pipeline > 2) stages.insert(1);
  for (const int stage : stages) rehearse_stage(request, stage, habits, *choice.device, deck.comm.deadline_s);
  choice.device->settle();
  for (const std::string& note : choice.device->notes())
    choice.note += (choice.note.empty() ? "" : "; ") + note;
}

// A deck for GPUs can be planned where there are none: memory as on theirs, times as on this machine.
Machine choose_machine(const io::Deck& deck) {
  const int ranks = static_cast<int>(deck.parallel.ranks());
  if (deck.device.kind == io::DeviceKind::emulated)
    return {{kernels::create_emulated_device({}), {}, ranks}, std::size_t{0}};
  if (deck.device.kind == io::DeviceKind::cuda && kernels::cuda_presence().devices == 0)
    return {
        {kernels::create_cpu_device(),
         "no GPU here: memory is what a rank takes on a GPU of its own with an H200's memory; times are this "
         "CPU's",
         1},
        memory_room_on_paper(deck)};
  DeviceChoice choice = choose_device(deck, ranks);
  const parallel::ComputeHabits habits =
      compute_habits(deck, choice.device->kind(),
                     choice.device->total_bytes() / static_cast<std::size_t>(choice.ranks_sharing));
  if (choice.device->kind() == kernels::DeviceKind::cuda) rehearse(deck, choice, habits);
  parallel::MemoryRoom room = memory_room(*choice.device, choice.ranks_sharing, ranks,
                                          host_memory_to_fill(deck, kernels::available_memory_bytes()));
  room.probe_bytes = probe_bytes(deck, choice.device->kind(), room);
  room.habits = habits;
  return {std::move(choice), std::move(room)};
}

}  // namespace

int plan_command(const std::vector<std::string>& arguments) {
  constexpr int kMaxArguments = 1000;
  const CommandLine line({"plan", {}, {"json", "ranks"}, 1, kMaxArguments}, arguments);
  const std::vector<std::string> overrides(line.positional().begin() + 1, line.positional().end());
  const io::Deck deck = io::read_deck(line.positional().front(), overrides);
  if (line.has("ranks")) {
    std::printf("%lld\n%s\n%lld\n%lld\n", static_cast<long long>(deck.parallel.ranks()),
                deck.run.output_dir.c_str(), static_cast<long long>(deck.parallel.replicas),
                static_cast<long long>(deck.device.threads));
    return 0;
  }
  const auto [choice, room] = choose_machine(deck);
  kernels::Device& device = *choice.device;
  const double rate =
      device.has_data() ? measure_matmul_rate(device, gpt_config(deck.model).compute_dtype) : 0;
  const parallel::Layout layout = plan_layout(deck, rate, room);
  const Besides besides(deck, layout, room, device);
  if (line.has("json"))
    std::printf("%s\n", plan_json(deck, layout, choice, rate, besides).c_str());
  else
    print_text(deck, layout, choice, rate, besides);
  return 0;
}

}  // namespace tenax::app
