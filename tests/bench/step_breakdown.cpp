// step_breakdown DECK [--steps N] [--logit-rows N] [section.key=value …], under mpirun: where the time of a training
// step goes on rank 0, by operation and collective, over random tokens. The rest of a step is waiting for pipeline
// neighbours and votes, and what lies between operations. --logit-rows: of a chunk of the head
// (model::GptConfig::logit_rows), other than the device's own.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "app/machine/device_choice.hpp"
#include "app/machine/machine_rate.hpp"
#include "app/options.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/step_vote.hpp"
#include "io/deck/deck.hpp"
#include "kernels/host.hpp"
#include "kernels/random.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/rehearsal.hpp"
#include "resilience/diagnosis/device_probe.hpp"
#include "tests/bench/timed_device.hpp"
#include "tests/bench/timed_world.hpp"

namespace tenax::bench {
namespace {

using Entry = std::pair<std::string, OpMeter::Sum>;

struct Rates {
  double flop_per_s = 0, bytes_per_s = 0;
};

std::vector<std::int32_t> random_windows(const io::Deck& deck, const parallel::Layout& layout) {
  const kernels::CounterRandom random(1, "tokens");
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(
      layout.schedule.microbatches() * deck.batch.micro_batch_size * (deck.model.seq_length + 1)));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(deck.model.vocab_size));
  return tokens;
}

void step(parallel::Replica& replica, const io::Deck& deck, const std::vector<std::int32_t>& windows,
          int number) {
  const auto tokens = static_cast<double>(deck.batch.global_batch_size * deck.model.seq_length);
  const auto rule = app::update_rule(deck.optimizer, deck.optimizer.lr, tokens, number);
  parallel::StepBatch batch{.microbatches = replica.layout().schedule.microbatches(), .windows = {}};
  if (replica.reads_tokens()) batch.windows = windows;
  replica.passes(batch, rule, nullptr);
  replica.reduce();
  replica.sum_tied();
  const app::StepVote vote = app::count_votes(replica, {.sums = replica.norm()}, tokens, true);
  replica.update(rule, vote.squares);
  replica.gather();
}

// A device-to-device copy much larger than any cache; bytes read plus bytes written.
double measure_copy_rate(kernels::Device& device) {
  constexpr std::int64_t kFloats = 64 << 20;
  constexpr int kCopies = 10;
  constexpr double kWait_s = 60;
  const auto stream = device.create_stream();
  const auto memory = device.allocate(2 * kFloats * sizeof(float));
  const auto half = [&](std::size_t i) {
    return memory->tensor(kernels::DType::f32, {kFloats}, i * kFloats * sizeof(float));
  };
  const auto begin = device.create_event(), end = device.create_event();
  device.kernels().copy(*stream, half(0), half(1));
  stream->record(*begin);
  for (int i = 0; i < kCopies; ++i) device.kernels().copy(*stream, half(0), half(1));
  stream->record(*end);
  end->wait(kernels::Deadline::after_s(kWait_s));
  return kCopies * 2.0 * static_cast<double>(half(0).bytes()) / (end->time_s() - begin->time_s());
}

void print_row(const std::string& name, const OpMeter::Sum& sum, double step_s, int steps,
               const Rates& rates) {
  const double seconds = sum.seconds / steps;
  const double bound_s =
      std::max(sum.cost.flop / rates.flop_per_s, sum.cost.bytes / rates.bytes_per_s) / steps;
  std::printf("%-30s %8ld %10.3f %6.1f%% %10.3f %6.1f%% %s\n", name.c_str(), sum.calls / steps, 1e3 * seconds,
              100 * seconds / step_s, 1e3 * bound_s, 100 * bound_s / seconds,
              sum.cost.flop / rates.flop_per_s > sum.cost.bytes / rates.bytes_per_s ? "FLOP" : "bytes");
}

void print(const OpMeter& meter, const Stopwatch& stopwatch, double step_s, int steps, double tokens,
           const Rates& rates) {
  std::vector<Entry> entries(meter.sums().begin(), meter.sums().end());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.second.seconds > b.second.seconds; });
  std::printf(
      "step %.3f ms, %.0f tokens/s; matrix products alone run at %.0f GFLOP/s, copies at %.1f GB/s on a "
      "rank\n",
      1e3 * step_s, tokens / step_s, rates.flop_per_s / 1e9, rates.bytes_per_s / 1e9);
  std::printf("%-30s %8s %10s %7s %10s %7s\n", "operation", "calls", "ms a step", "share", "bound/ms",
              "of it");
  double rest_s = step_s;
  for (const auto& [name, sum] : entries) {
    rest_s -= sum.seconds / steps;
    print_row(name, sum, step_s, steps, rates);
  }
  for (const auto& [name, sum] : stopwatch.sums()) {
    rest_s -= sum.seconds / steps;
    std::printf("%-30s %8ld %10.3f %6.1f%%\n", name.c_str(), sum.calls / steps, 1e3 * sum.seconds / steps,
                100 * sum.seconds / steps / step_s);
  }
  std::printf("%-30s %8s %10.3f %6.1f%%\n", "rest", "", 1e3 * rest_s, 100 * rest_s / step_s);
}

// What a run of such steps takes of a GPU's memory, libraries' workspaces included, for which `tenax plan` has a number. (A
// new device counts what is free now.)
void print_memory(const io::Deck& deck, const kernels::Device& device) {
  if (!device.is_asynchronous()) return;
  const auto now = app::choose_device(deck, 1);
  now.device->settle();
  const auto taken =
      static_cast<double>(device.memory_bytes()) - static_cast<double>(now.device->memory_bytes());
  std::printf("memory: %.0f bytes taken\n", taken);
}

void run(comm::World& world, const std::string& file, const std::vector<std::string>& overrides, int steps,
         int logit_rows) {
  const io::Deck deck = io::read_deck(file, overrides);
  const auto control = world.control_group();
  const app::DeviceChoice choice = app::choose_device(deck, world, *control);
  Stopwatch stopwatch;
  OpMeter meter(*choice.device);
  TimedDevice device(*choice.device, meter);
  TimedWorld timed_world(world, *choice.device, stopwatch);
  parallel::ComputeHabits habits =
      app::compute_habits(deck, choice.device->kind(),
                          choice.device->total_bytes() / static_cast<std::size_t>(choice.ranks_sharing));
  if (logit_rows > 0) habits.logit_rows = logit_rows;
  if (choice.device->kind() == kernels::DeviceKind::cuda) {
    parallel::rehearse_stage(app::layout_request(deck), 0, habits, *choice.device, deck.comm.deadline_s);
    choice.device->settle();
  }
  constexpr double kAnyRate = 2e11;  // the same on every rank: the layout follows from it
  parallel::MemoryRoom room = app::memory_room(*choice.device, choice.ranks_sharing, world.ranks_on_host(),
                                               kernels::usable_memory_bytes());
  room.habits = habits;
  const parallel::Layout layout = app::plan_layout(deck, kAnyRate, room);
  // Before the replica takes the memory.
  const Rates rates{app::measure_matmul_rate(*choice.device, layout.config.compute_dtype),
                    measure_copy_rate(*choice.device)};
  const std::vector<comm::Peer> no_peers;
  parallel::GptReplica replica(
      layout, parallel::ProcessGrid(layout.grid),
      {.options = app::pipeline_options(deck), .world = timed_world, .device = device, .peers = no_peers},
      {.captures_graph = deck.device.cuda_graph});
  app::initialise(replica.mirror(), layout.config, 1,
                  static_cast<int>(std::thread::hardware_concurrency()) / world.ranks_on_host());
  replica.mirror().store(kernels::Deadline::after_s(deck.comm.deadline_s));
  replica.state().publish_weights(kernels::Deadline::after_s(deck.comm.deadline_s));

  std::optional<resilience::DeviceProbe> probe;  // which a run keeps on its device
  if (deck.detect.enabled) probe.emplace(*choice.device);

  const auto windows = random_windows(deck, layout);
  constexpr int kWarmUp = 3;
  for (int i = 1; i <= kWarmUp; ++i) step(replica, deck, windows, i);
  replica.control().all_gather({});
  stopwatch.reset();
  meter.reset();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= steps; ++i) step(replica, deck, windows, kWarmUp + i);
  meter.collect();
  const double step_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / steps;
  const auto tokens = static_cast<double>(deck.batch.global_batch_size * deck.model.seq_length);
  if (world.rank() == 0) print(meter, stopwatch, step_s, steps, tokens, rates);
  if (world.size() == 1) print_memory(deck, device);
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto take = [&words](const char* name, int otherwise) {
    const auto option = std::find(words.begin(), words.end(), name);
    if (words.end() - option < 2) return otherwise;
    const int number = std::atoi(option[1].c_str());
    words.erase(option, option + 2);
    return number;
  };
  const int steps = take("--steps", 10), logit_rows = take("--logit-rows", 0);
  if (words.empty() || steps < 1 || logit_rows < 0) {
    std::fprintf(
        stderr,
        "usage: mpirun -n N step_breakdown DECK [--steps N] [--logit-rows N] [section.key=value ...]\n");
    return 2;
  }
  const auto world = tenax::comm::start_mpi_world({});
  try {
    tenax::bench::run(*world, words[0], {words.begin() + 1, words.end()}, steps, logit_rows);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_breakdown: %s\n", error.what());
    world->abort(1);
  }
  return 0;
}
