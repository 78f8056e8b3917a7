// How a run is put together: deck, ranks, layout, state, data; then TrainingLoop runs it.
#include "app/train_command.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "app/banner.hpp"
#include "app/console.hpp"
#include "app/error_message.hpp"
#include "app/initial_weights.hpp"
#include "app/machine_rate.hpp"
#include "app/run_start.hpp"
#include "app/training_loop.hpp"
#include "app/units.hpp"
#include "resilience/checkpoint_restore.hpp"

namespace tenax::app {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

/// One rank's view of a run while it is put together.
class Run {
 public:
  Run(comm::World& world, StopSignals& signals)
      : world_(world), signals_(signals), control_(world.control_group()), console_(world.rank() == 0) {}

  void read_deck(const std::string& file, const std::vector<std::string>& overrides);
  int train();

 private:
  bool first() const { return world_.rank() == 0; }
  void check_ranks() const;
  RunStart agree_on_start();
  void measure_machine();
  std::int64_t load_state(Replica& replica, const RunStart& start);
  std::int64_t resume(Replica& replica, const std::filesystem::path& checkpoint);
  std::optional<BatchLoader> open_tokens(const Replica& replica, const std::vector<io::DataSource>& sources,
                                         io::SampleOrder order);
  void log(const std::string& event, std::int64_t step, const io::JsonObject& details);
  int run_loop(Replica& replica, std::int64_t first_step);

  const Deadline::Clock::time_point started_ = Deadline::Clock::now();
  comm::World& world_;
  StopSignals& signals_;
  std::unique_ptr<comm::ControlGroup> control_;
  Console console_;
  io::Deck deck_;
  std::unique_ptr<kernels::Device> device_;
  double rank_flop_per_second_ = 0, machine_flop_per_second_ = 0;
};

std::unique_ptr<kernels::Device> create_device(const std::string& kind) {
  return kind == "cuda" ? kernels::create_cuda_device(0) : kernels::create_cpu_device();
}

void Run::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  std::string resolved;
  control_->agree([&] {
    if (first()) resolved = io::to_toml(io::read_deck(file, overrides));
  });
  deck_ = io::parse_resolved_deck(control_->broadcast(resolved, 0));
  world_.set_options({deck_.comm.deadline_s});
  control_ = world_.control_group();
}

void Run::check_ranks() const {
  const io::ParallelSection& p = deck_.parallel;
  if (world_.size() == p.ranks()) return;
  throw comm::AgreedError(
      Scope::usage,
      format("the deck asks for %lld ranks (tensor %lld x pipeline %lld x data %lld), but %d %s started: use "
             "mpirun -n "
             "%lld, or bash app/run.sh, which works it out",
             static_cast<long long>(p.ranks()), static_cast<long long>(p.tensor_parallel_size),
             static_cast<long long>(p.pipeline_parallel_size), static_cast<long long>(p.data_parallel_size),
             world_.size(), world_.size() == 1 ? "was" : "were", static_cast<long long>(p.ranks())));
}

// Rank 0 looks at the directories; everybody does as it says.
RunStart Run::agree_on_start() {
  RunStart start;
  control_->agree([&] {
    if (!first()) return;
    start = decide_start(deck_);
    if (start.finished) return;
    if (const auto moved = io::prepare_run_directory(deck_))
      console_.say("moved the previous run to " + moved->string());
    io::write_resolved_deck(deck_);
  });
  start.finished = control_->broadcast(start.finished ? "finished" : "", 0) == "finished";
  start.checkpoint = control_->broadcast(start.checkpoint.string(), 0);
  return start;
}

void Run::measure_machine() {
  rank_flop_per_second_ = measure_matmul_rate(*device_, gpt_config(deck_.model).compute_dtype);
  std::array<double, 1> sum = {rank_flop_per_second_};
  control_->all_reduce_sum(sum);
  machine_flop_per_second_ = sum[0];
  rank_flop_per_second_ = sum[0] / world_.size();  // equal on all ranks: the layout follows from it
}

std::int64_t Run::resume(Replica& replica, const std::filesystem::path& checkpoint) {
  const auto ranges = state_ranges(replica.state());
  const io::CheckpointInfo info =
      resilience::restore_checkpoint(*control_, checkpoint, ranges, io::sizes_of(deck_.model));
  for (const std::string& change : changed_settings(deck_, info.deck)) console_.warn("resuming: " + change);
  console_.say(
      format("resuming from %s after %lld steps", checkpoint.c_str(), static_cast<long long>(info.step)));
  log("resume", info.step, io::JsonObject{}.add("checkpoint", checkpoint.string()));
  return info.step;
}

// The steps done before this run.
std::int64_t Run::load_state(Replica& replica, const RunStart& start) {
  std::int64_t step = 0;
  if (!start.checkpoint.empty()) {
    step = resume(replica, start.checkpoint);
  } else {
    control_->agree([&] {
      initialise(replica.state(), replica.layout().config, static_cast<std::uint64_t>(deck_.run.seed));
      if (!deck_.model.init_weights.empty()) load_initial_weights(replica.state(), deck_.model);
    });
    log("start", 0, io::JsonObject{}.add("ranks", world_.size()).add("name", deck_.run.name));
  }
  replica.state().publish_weights(Deadline::after_s(deck_.comm.deadline_s));
  return step;
}

std::optional<BatchLoader> Run::open_tokens(const Replica& replica,
                                            const std::vector<io::DataSource>& sources,
                                            io::SampleOrder order) {
  std::optional<BatchLoader> loader;
  control_->agree([&] {
    if (sources.empty() || !(replica.reads_tokens() || first())) return;
    auto file = io::TokenFile::open(sources.front().file, deck_.data.tokenizer,
                                    {deck_.model.seq_length, deck_.model.vocab_size, first()});
    const io::WindowOrder windows(order, deck_.run.seed, file->size(), deck_.model.seq_length);
    if (replica.reads_tokens())
      loader.emplace(std::move(file), windows,
                     parallel::BatchPlan::uniform(deck_.batch.global_batch_size, deck_.batch.micro_batch_size,
                                                  replica.layout().grid.data, replica.coordinates().data),
                     deck_.model.seq_length);
  });
  return loader;
}

void Run::log(const std::string& event, std::int64_t step, const io::JsonObject& details) {
  control_->agree([&] {
    if (!first()) return;
    io::RunEvent entry;
    entry.step = step;
    entry.name = event;
    entry.host = world_.host();
    entry.details = details;
    io::EventsWriter(deck_.run.output_dir).write(entry);
  });
}

int Run::run_loop(Replica& replica, std::int64_t first_step) {
  auto training = open_tokens(replica, deck_.data.train, io::sample_order(deck_.data.order));
  auto validation = open_tokens(replica, deck_.data.validation, io::SampleOrder::sequential);
  resilience::CheckpointManager checkpoints(
      {deck_.checkpoint.dir, deck_.checkpoint.keep, io::sizes_of(deck_.model)}, world_.control_group(),
      state_ranges(replica.state()));
  TrainingLoop loop({deck_, replica, training, validation, checkpoints, signals_, console_,
                     machine_flop_per_second_, started_},
                    first_step);
  const auto end = [&](const std::string& reason, const std::string& error) {
    io::JsonObject details;
    details.add("reason", reason);
    if (!error.empty()) details.add("error", error);
    log("end", loop.steps_done(), details);
  };
  std::string reason;
  try {
    reason = loop.run();
  } catch (const comm::AgreedError& error) {
    try {
      end("failed", error.what());
    } catch (const comm::AgreedError&) {  // the disk that ended the run: the first error says more
    }
    throw;
  }
  end(reason, "");
  if (first()) write_closing_lines(deck_, loop.steps_done(), reason, console_);
  control_->barrier();
  return 0;
}

int Run::train() {
  check_ranks();
  const RunStart start = agree_on_start();
  if (start.finished) {
    console_.say(
        format("the run in %s is finished (%lld steps); give it more run.train_steps, another run.name, or "
               "run.resume=never",
               deck_.run.output_dir.c_str(), static_cast<long long>(deck_.run.train_steps)));
    return 0;
  }
  control_->agree([&] { device_ = create_device(deck_.device.kind); });
  measure_machine();
  const Layout layout =
      plan_layout(deck_, rank_flop_per_second_,
                  device_->memory_bytes() / static_cast<std::size_t>(world_.ranks_on_host()));
  console_.say(banner(deck_, layout, *device_, machine_flop_per_second_));
  Replica replica(deck_, layout, world_, *device_);
  return run_loop(replica, load_state(replica, start));
}

}  // namespace

int train_command(const std::string& deck, const std::vector<std::string>& overrides) {
  StopSignals signals;  // first: threads started later inherit the blocked signals
  const auto world = comm::start_mpi_world({});
  try {
    Run run(*world, signals);
    run.read_deck(deck, overrides);
    return run.train();
  } catch (const comm::AgreedError& error) {
    if (world->rank() == 0) print_error(error);
    return error.exit_status();
  } catch (const std::exception& error) {
    // The others do not know: tell the user from here and end them.
    std::fprintf(stderr, "tenax: rank %d on %s: %s\n", world->rank(), world->host().c_str(), error.what());
    world->abort(1);
    return 1;
  }
}

}  // namespace tenax::app
