#include "app/training/training_run.hpp"

#include <array>
#include <thread>

#include "app/crowding.hpp"
#include "app/error_message.hpp"
#include "app/layout/device_choice.hpp"
#include "app/layout/machine_rate.hpp"
#include "app/layout/memory_check.hpp"
#include "app/options.hpp"
#include "app/preparation.hpp"
#include "app/training/banner.hpp"
#include "app/training/checkpoint_origin.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/training_loop.hpp"
#include "app/units.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "comm/transport/listening_interfaces.hpp"
#include "comm/transport/transports.hpp"
#include "io/hugging_face/gpt2_names.hpp"
#include "kernels/available_memory.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "resilience/checkpoint/agreement.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/checkpoint/checkpoint_restore.hpp"

namespace tenax::app {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

// A save may wait for a slow file system where training must not wait for a peer.
constexpr double kCheckpointDeadline_s = 3600;

std::vector<std::string> names_of(const std::vector<resilience::PassedOver>& files) {
  std::vector<std::string> names;
  for (const resilience::PassedOver& file : files) names.push_back(file.name);
  return names;
}

}  // namespace

TrainingRun::TrainingRun(comm::World& world, StopSignals& signals, const Build& build)
    : world_(world),
      signals_(signals),
      build_(build),
      control_(world.control_group()),
      console_(world.rank() == 0) {}

void TrainingRun::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  std::string resolved;
  control_->agree([&] {
    if (first()) resolved = io::to_toml(io::read_deck(file, overrides));
  });
  deck_ = io::parse_resolved_deck(control_->broadcast(resolved, 0));
  world_.set_options({deck_.comm.deadline_s});
  control_ = world_.control_group();
}

std::function<void()> TrainingRun::train() {
  check_ranks();
  const RunStart start = agree_on_start();
  if (start.finished) return already_finished(start.steps);
  create_device();
  const parallel::Layout layout = agree_on_layout();
  console_.say(banner(deck_, layout, *device_, machine_flop_per_second_));
  if (!device_note_.empty()) console_.say("note     " + device_note_);
  compare_with_cores();
  check_memory(layout);
  control_->agree([&] {
    if (first()) check_disk(start);
  });
  const parallel::PipelineContext context = create_context(layout);
  return emulated_ ? emulate(layout, context, start) : train(layout, context, start);
}

void TrainingRun::create_device() {
  if (deck_.device.kind == io::DeviceKind::emulated) {
    control_->agree([&] {
      device_ = emulated_ = kernels::create_emulated_device(emulated_device_options(deck_, world_.rank()));
    });
    return;
  }
  DeviceChoice choice = choose_device(deck_, world_, *control_);
  device_ = std::move(choice.device);
  device_note_ = choice.note;
  ranks_sharing_device_ = choice.ranks_sharing;
  use_nccl();
  measure_machine();
}

// NCCL carries what GPUs say to each other, unless two ranks share one, or faults are to be injected, which need links that
// can be wrapped.
void TrainingRun::use_nccl() {
  if (device_->kind() != kernels::DeviceKind::cuda || world_.size() == 1) return;
  const std::string obstacle =
      deck_.inject.empty() ? comm::nccl_obstacle(*control_, *device_, world_.host()) : "faults are injected";
  if (obstacle.empty()) {
    nccl_world_ = std::make_unique<comm::NcclWorld>(world_, comm::CommOptions{deck_.comm.deadline_s});
    return;
  }
  device_note_ = "no NCCL (" + obstacle + "): collectives go through host memory and MPI, and are slow";
}

// The world with the faults that the deck injects, and what pipelines need besides MPI.
parallel::PipelineContext TrainingRun::create_context(const parallel::Layout& layout) {
  control_->agree([&] {
    injector_ = resilience::create_fault_injector(fault_requests(deck_), parallel::ProcessGrid(layout.grid),
                                                  layout.schedule.microbatches());
    if (injector_) injected_world_ = injector_->wrap(world_, {deck_.comm.deadline_s});
  });
  const bool delegates = layout.grid.pipeline > 1 && deck_.pipeline.p2p != io::P2p::direct;
  if (delegates || (emulated_ && layout.grid.pipeline * layout.grid.data > 1)) create_transport();
  comm::World& world = injected_world_ ? *injected_world_ : nccl_world_ ? *nccl_world_ : world_;
  return {.options = pipeline_options(deck_),
          .world = world,
          .device = *device_,
          .transport = transport_.get(),
          .peers = peers_,
          .uses_nccl = nccl_world_ != nullptr};
}

void TrainingRun::create_transport() {
  const auto secret = comm::JobSecret::share(*control_);
  std::vector<std::string> interfaces = deck_.comm.interfaces;
  if (interfaces.empty() && deck_.comm.transport != io::TransportKind::shared_memory)
    interfaces = comm::interfaces_of_job(*control_, comm::host_network(world_.host()));
  control_->agree([&] {
    transport_ = comm::create_transport({.kind = transport_kind(deck_.comm.transport),
                                         .interfaces = interfaces,
                                         .deadline_s = deck_.comm.deadline_s,
                                         .secret = secret});
    if (injector_) transport_ = injector_->wrap(std::move(transport_), world_.rank());
  });
  peers_ = comm::exchange_peers(*control_, *transport_, world_.rank(), world_.host());
}

std::function<void()> TrainingRun::emulate(const parallel::Layout& layout,
                                           const parallel::PipelineContext& context, const RunStart& start) {
  const int data_rank = parallel::ProcessGrid(layout.grid).coordinates_of(world_.rank()).data;
  parallel::EmulatedReplica replica(layout, batch_plan(deck_, data_rank), context, *emulated_,
                                    emulated_replica_options(deck_));
  std::optional<BatchLoader> none;
  open_run_directory(start);
  return run_loop(replica, context, none, none, nullptr, 0);
}

std::function<void()> TrainingRun::train(const parallel::Layout& layout,
                                         const parallel::PipelineContext& context, const RunStart& start) {
  const int data_rank = parallel::ProcessGrid(layout.grid).coordinates_of(world_.rank()).data;
  parallel::GptReplica replica(layout, batch_plan(deck_, data_rank), context,
                               {.captures_graph = deck_.device.cuda_graph});
  const auto train = find_files(*control_, deck_.data.train);
  const auto validate = find_files(*control_, deck_.data.validation);
  agree_on_tokenizer(train, validate);
  auto training = open_tokens(replica, train, io::sample_order(deck_.data.order));
  auto validation = open_tokens(replica, validate, io::SampleOrder::sequential);
  load_state(replica, start);
  open_run_directory(start);
  const auto checkpoints = create_checkpoints(replica);
  return run_loop(replica, context, training, validation, checkpoints.get(), start.steps);
}

// Ranks that take turns on a core are stragglers by turns: nothing that anybody could act on.
void TrainingRun::compare_with_cores() {
  if (device_->kind() != kernels::DeviceKind::cpu) return;
  const Crowding crowding = crowding_of(control_->all_gather(cores_text(world_.host())));
  judges_times_ = !crowding.is_crowded();
  if (!judges_times_)
    console_.say(format("note     %d ranks on %d core%s: times are not judged, stragglers go to events.jsonl",
                        crowding.ranks, crowding.cores, crowding.cores == 1 ? "" : "s"));
}

void TrainingRun::check_ranks() const {
  const io::ParallelSection& p = deck_.parallel;
  if (world_.size() == p.ranks()) return;
  throw comm::AgreedError(
      Scope::usage,
      format("the deck asks for %lld ranks (tensor %lld x pipeline %lld x data %lld), but %d %s started: "
             "use mpirun -n %lld, or bash app/run.sh, which works it out",
             static_cast<long long>(p.ranks()), static_cast<long long>(p.tensor_parallel_size),
             static_cast<long long>(p.pipeline_parallel_size), static_cast<long long>(p.data_parallel_size),
             world_.size(), world_.size() == 1 ? "was" : "were", static_cast<long long>(p.ranks())));
}

// Rank 0 locks the directories and looks at them; everybody does as it says.
RunStart TrainingRun::agree_on_start() {
  control_->agree([&] {
    if (first()) lock_.emplace(deck_);
  });
  RunStart start = decide_start(*control_, deck_);
  for (const resilience::PassedOver& file : start.passed_over)
    console_.warn("a checkpoint that is not complete is passed over: " + file.reason);
  return start;
}

std::function<void()> TrainingRun::already_finished(std::int64_t steps) const {
  if (!first()) return {};
  return [directory = deck_.run.output_dir, steps] {
    Console(true).say(
        format("the run in %s is finished (%lld steps done); to go on, give it more run.train_steps, "
               "another run.name, or run.resume=never",
               directory.c_str(), static_cast<long long>(steps)));
  };
}

void TrainingRun::measure_machine() {
  rank_flop_per_second_ = measure_matmul_rate(*device_, gpt_config(deck_.model).compute_dtype);
  std::array<double, 1> sum = {rank_flop_per_second_};
  control_->all_reduce_sum(sum);
  machine_flop_per_second_ = sum[0];
  rank_flop_per_second_ = sum[0] / world_.size();  // equal on all ranks: the layout follows from it
}

parallel::Layout TrainingRun::agree_on_layout() {
  available_bytes_ = kernels::available_memory_bytes();
  parallel::MemoryRoom room = memory_room(*device_, ranks_sharing_device_, world_.ranks_on_host(),
                                          host_memory_to_fill(deck_, available_bytes_));
  std::array<double, 2> least = {-static_cast<double>(room.device), -static_cast<double>(room.host)};
  control_->all_reduce_max(least);
  room.device = static_cast<std::size_t>(-least[0]);
  room.host = static_cast<std::size_t>(-least[1]);
  parallel::Layout layout;
  control_->agree([&] { layout = plan_layout(deck_, rank_flop_per_second_, room); });
  return layout;
}

void TrainingRun::check_memory(const parallel::Layout& layout) {
  if (deck_.run.ignore_memory) return;
  const auto stage =
      static_cast<std::size_t>(parallel::ProcessGrid(layout.grid).coordinates_of(world_.rank()).pipeline);
  app::check_memory(*control_,
                    {world_.host(), host_bytes(layout.memory_of_stage[stage], *device_), available_bytes_});
}

void TrainingRun::agree_on_tokenizer(const std::vector<SourceFiles>& train,
                                     const std::vector<SourceFiles>& validation) {
  control_->agree([&] {
    if (!first()) return;
    std::vector<std::string> files;
    for (const auto* sources : {&train, &validation})
      for (const SourceFiles& source : *sources)
        files.insert(files.end(), source.files.begin(), source.files.end());
    tokens_ = settle_tokenizer(deck_.data, files);
  });
  deck_.data.tokenizer = control_->broadcast(tokens_.claim.tokenizer, 0);
}

void TrainingRun::compare_tokenizer(const io::TokenizerClaim& weights) {
  control_->agree([&] {
    if (!first()) return;
    const std::string difference = compare_with_checkpoint(tokens_, weights, deck_.model.vocab_size);
    if (!difference.empty()) console_.warn(difference);
  });
  deck_.data.tokenizer = control_->broadcast(tokens_.claim.tokenizer, 0);
}

std::optional<BatchLoader> TrainingRun::open_tokens(const parallel::Replica& replica,
                                                    const std::vector<SourceFiles>& sources,
                                                    io::SampleOrder order) {
  if (sources.empty()) return {};
  auto opened = open_sources(*control_, console_, sources, deck_);
  if (!replica.reads_tokens()) return {};
  io::TokenBlend blend(std::move(opened), order, deck_.run.seed, deck_.model.seq_length);
  return BatchLoader(std::move(blend), batch_plan(deck_, replica.coordinates().data), deck_.model.seq_length);
}

// Reads files, writes none.
void TrainingRun::load_state(parallel::GptReplica& replica, const RunStart& start) {
  if (start.checkpoint) {
    const io::CheckpointInfo& info = start.checkpoint->info();
    start.checkpoint->read(state_ranges(replica.mirror()));
    compare_tokenizer(io::claim_of_checkpoint(start.checkpoint->file(), info));
    for (const std::string& change : changed_settings(deck_, info.deck)) console_.warn("resuming: " + change);
    const std::string missing = missing_moments(info, replica.mirror().optimizer().moments);
    if (!missing.empty()) console_.warn("resuming: " + missing);
  } else {
    const std::string& weights = deck_.model.init_weights;
    const bool is_checkpoint = weights.ends_with(".h5");
    const model::GptConfig& config = replica.layout().config;
    Preparation shown(console_,
                      "initialising " + count_text(static_cast<double>(config.parameters())) + " weights");
    control_->agree([&] {
      const int cores = static_cast<int>(std::thread::hardware_concurrency());
      initialise(replica.mirror(), config, static_cast<std::uint64_t>(deck_.run.seed),
                 cores / world_.ranks_on_host(), [&](double part) { shown.show(part); });
      if (!weights.empty() && !is_checkpoint) load_initial_weights(replica.mirror(), deck_.model);
    });
    if (is_checkpoint)
      compare_tokenizer(io::claim_of_checkpoint(
          weights, load_initial_checkpoint(*control_, replica.mirror(), deck_.model)));
    else if (!weights.empty())
      compare_tokenizer({weights, "", ""});
  }
  replica.mirror().store(Deadline::after_s(deck_.comm.deadline_s));
  replica.state().publish_weights(Deadline::after_s(deck_.comm.deadline_s));
}

void TrainingRun::open_run_directory(const RunStart& start) {
  control_->agree([&] {
    if (!first()) return;
    if (const auto moved = lock_->move_old_run(deck_))
      console_.say("moved the previous run to " + moved->string());
    // Checkpoints of a future that this run does not have would be taken for its own at the next resume.
    const std::int64_t latest = start.checkpoint ? start.steps : -1;
    for (const auto& file : resilience::set_aside_checkpoints(deck_.checkpoint.dir, latest))
      console_.warn("an older run's checkpoint is kept as " + file.string());
    io::write_resolved_deck(deck_);
    io::JsonObject details;
    details.add("ranks", world_.size()).add("name", deck_.run.name);
    if (start.checkpoint) {
      const std::string file = start.checkpoint->file().string();
      details.add("checkpoint", file).add("passed_over", names_of(start.passed_over));
      console_.say(
          format("resuming from %s after %lld steps", file.c_str(), static_cast<long long>(start.steps)));
    }
    write_event(start.checkpoint ? "resume" : "start", start.checkpoint ? start.steps : 0, details);
  });
}

// A checkpoint holds a weight's value and its moments, of four bytes each.
void TrainingRun::check_disk(const RunStart& start) {
  if (deck_.checkpoint.interval < 0) return;
  std::int64_t parameters = 0;
  for (const io::NamedShape& parameter : io::gpt2_parameters(io::sizes_of(deck_.model)))
    parameters += parameter.shape.size();
  const std::size_t numbers = 1 + optimizer_of(deck_).moments.size();
  const std::int64_t bytes = parameters * static_cast<std::int64_t>(numbers * sizeof(float));
  const std::string warning = resilience::check_room_for_checkpoints(
      deck_.checkpoint.dir, {bytes, deck_.checkpoint.keep, start.checkpoint ? start.steps : -1});
  if (!warning.empty()) console_.warn(warning);
}

void TrainingRun::write_event(const std::string& event, std::int64_t step,
                              const io::JsonObject& details) const {
  io::RunEvent entry;
  entry.step = step;
  entry.name = event;
  entry.host = world_.host();
  entry.details = details;
  io::EventsWriter(deck_.run.output_dir).write(entry);
}

std::unique_ptr<resilience::CheckpointManager> TrainingRun::create_checkpoints(
    parallel::GptReplica& replica) {
  world_.set_options({std::max(kCheckpointDeadline_s, deck_.comm.deadline_s)});
  auto saving = world_.control_group();
  world_.set_options({deck_.comm.deadline_s});
  resilience::CheckpointOptions options{deck_.checkpoint.dir, deck_.checkpoint.keep,
                                        io::sizes_of(deck_.model)};
  options.global_batch_size = deck_.batch.global_batch_size;
  control_->agree([&] {
    if (first()) options.origin = checkpoint_origin(deck_, tokens_.claim, build_);
  });
  if (replica.mirror().is_copy())
    options.fetch = [&replica, deadline_s = deck_.comm.deadline_s] {
      replica.mirror().fetch(Deadline::after_s(deadline_s));
    };
  return std::make_unique<resilience::CheckpointManager>(std::move(options), std::move(saving),
                                                         state_ranges(replica.mirror()));
}

std::function<void()> TrainingRun::run_loop(parallel::Replica& replica,
                                            const parallel::PipelineContext& context,
                                            std::optional<BatchLoader>& training,
                                            std::optional<BatchLoader>& validation,
                                            resilience::CheckpointManager* checkpoints,
                                            std::int64_t first_step) {
  std::unique_ptr<resilience::PipelineAdaptation> adaptation;
  const resilience::AdaptationSettings settings = adaptation_settings(deck_);
  if (resilience::PipelineAdaptation::is_needed(replica, settings))
    adaptation = std::make_unique<resilience::PipelineAdaptation>(replica, context, settings);
  TrainingLoop loop({.deck = deck_,
                     .replica = replica,
                     .training = training,
                     .validation = validation,
                     .adaptation = adaptation.get(),
                     .checkpoints = checkpoints,
                     .injector = injector_.get(),
                     .lock = lock_ ? &*lock_ : nullptr,
                     .signals = signals_,
                     .console = console_,
                     .machine_flop_per_second = machine_flop_per_second_,
                     .started = started_,
                     .judges_times = judges_times_},
                    first_step);
  std::string reason;
  try {
    reason = loop.run();
  } catch (const Error& error) {
    try {  // alone: the others may be gone. The first error says more than one about this event.
      if (first()) {
        loop.log_open_adaptations();
        write_event("end", loop.steps_done(),
                    io::JsonObject{}.add("reason", "failed").add("error", message_of(error)));
      }
    } catch (const Error&) {
    }
    throw;
  }
  control_->agree([&] {
    if (first()) write_event("end", loop.steps_done(), io::JsonObject{}.add("reason", reason));
  });
  if (!first()) return {};
  const auto closing = [deck = deck_, steps = loop.steps_done(), reason] {
    write_closing_lines(deck, steps, reason);
  };
  if (reason == "completed") return closing;
  closing();  // now: mpirun kills ranks that it has asked to stop a second later, be it in MPI_Finalize
  return {};
}

}  // namespace tenax::app
