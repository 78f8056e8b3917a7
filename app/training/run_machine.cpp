#include "app/training/run_machine.hpp"

#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "app/fault_options.hpp"
#include "app/machine/device_choice.hpp"
#include "app/machine/host_check.hpp"
#include "app/machine/machine_rate.hpp"
#include "app/machine/registered_bytes.hpp"
#include "app/options.hpp"
#include "app/training/algorithms_file.hpp"
#include "app/training/banner.hpp"
#include "app/training/iteration_watch.hpp"
#include "app/units.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "kernels/host.hpp"
#include "parallel/replica/rehearsal.hpp"
#include "parallel/replica/swap_memory.hpp"
#include "resilience/recorder/recorded_device.hpp"
#include "resilience/recorder/recorded_transport.hpp"
#include "resilience/recorder/recorded_world.hpp"

namespace tenax::app {

RunMachine::RunMachine(RunRank& rank, const std::string& earlier_algorithms)
    : rank_(rank), run_transport_(rank) {
  find_compute_faults();
  find_hang_faults();
  create_device();
  if (emulated_) return;
  use_nccl();
  measure();
  agree_on_habits();
  if (device_->kind() == kernels::DeviceKind::cuda) rehearse(earlier_algorithms);
}

void RunMachine::find_compute_faults() {
  rank_.control().agree([&] {
    const int replica = rank_.seat() ? rank_.seat()->replica : 0;
    auto faults = app::compute_faults(rank_.deck(), replica, rank_.world().rank());
    if (!faults.empty()) compute_faults_ = std::make_unique<resilience::ComputeFaults>(std::move(faults));
  });
}

resilience::FaultSeat RunMachine::fault_seat() const {
  return {
      .replica = rank_.seat()->replica, .rank = rank_.world().rank(), .directory = rank_.records_directory()};
}

void RunMachine::find_hang_faults() {
  if (!rank_.seat()) {
    for (const std::string& warning : faults_without_launch(rank_.deck())) rank_.console().warn(warning);
    return;
  }
  auto faults = app::hang_faults(rank_.deck(), fault_seat());
  if (!faults.empty()) hang_faults_ = std::make_unique<resilience::HangFaults>(std::move(faults));
}

void RunMachine::create_device() {
  const io::Deck& deck = rank_.deck();
  if (deck.device.kind != io::DeviceKind::emulated) {
    const std::vector<int> slots = rank_.seat() ? rank_.seat()->slots : std::vector<int>{};
    DeviceChoice choice = choose_device(deck, rank_.world(), rank_.control(), slots);
    device_ = std::move(choice.device);
    device_note_ = choice.note;
    ranks_sharing_device_ = choice.ranks_sharing;
    const bool shows_passes = device_->kind() == kernels::DeviceKind::cpu;  // a GPU's ranges are launches
    if (rank_.recorder() && shows_passes)
      device_ = resilience::record_device(std::move(device_), *rank_.recorder());
    if (hang_faults_) device_ = hang_faults_->wrap(std::move(device_));
    if (compute_faults_) device_ = compute_faults_->wrap(std::move(device_));
    return;
  }
  rank_.control().agree([&] { create_emulated_device(); });
}

void RunMachine::create_emulated_device() {
  auto emulated =
      kernels::create_emulated_device(emulated_device_options(rank_.deck(), rank_.world().rank()));
  if (rank_.recorder()) emulated = resilience::record_device(std::move(emulated), *rank_.recorder());
  if (hang_faults_) emulated = hang_faults_->wrap(std::move(emulated));
  if (compute_faults_) emulated = compute_faults_->wrap(std::move(emulated));
  emulated_ = emulated.get();
  device_ = std::move(emulated);
}

// NCCL carries what GPUs say to each other, unless two ranks share one, or faults are to be injected, which need links that
// can be wrapped.
void RunMachine::use_nccl() {
  comm::World& world = rank_.world();
  if (device_->kind() != kernels::DeviceKind::cuda || world.size() == 1) return;
  const io::Deck& deck = rank_.deck();
  const std::string obstacle = deck.inject.empty()
                                   ? comm::nccl_obstacle(rank_.control(), *device_, world.host())
                                   : "faults are injected";
  if (obstacle.empty()) {
    nccl_world_ =
        std::make_unique<comm::NcclWorld>(world, comm::CommOptions{deck.comm.deadline_s}, nccl_use(deck));
    prepared_world_ =
        std::make_unique<comm::PreparedWorld>(*nccl_world_, comm::CommOptions{deck.comm.deadline_s});
    return;
  }
  device_note_ = "no NCCL (" + obstacle + "): collectives go through host memory and MPI, and are slow";
}

// Groups first: what they keep of the device's multiprocessors is not for products.
void RunMachine::rehearse(const std::string& earlier_algorithms) {
  const io::Deck& deck = rank_.deck();
  const parallel::LayoutRequest request = layout_request(deck);
  const parallel::ProcessGrid grid(request.grid);
  device_->choose_as(rank_.control().broadcast(earlier_algorithms, 0));
  if (prepared_world_)
    prepare_groups(*prepared_world_, request, grid, pipeline_options(deck).paths, *device_,
                   deck.comm.deadline_s);
  const int stage = grid.coordinates_of(rank_.world().rank()).pipeline;
  rank_.control().agree([&] { rehearse_stage(request, stage, habits_, *device_, deck.comm.deadline_s); });
  rank_.control().agree([&] { device_->settle(); });
}

// Tensor ranks sum up the same rows at a time.
void RunMachine::agree_on_habits() {
  habits_ = compute_habits(rank_.deck(), device_->kind(),
                           device_->total_bytes() / static_cast<std::size_t>(ranks_sharing_device_));
  std::array<double, 1> least = {-static_cast<double>(habits_.logit_rows)};
  rank_.control().all_reduce_max(least);
  habits_.logit_rows = static_cast<std::int64_t>(-least[0]);
}

std::string RunMachine::algorithms() const {
  const auto choices_of_rank = rank_.control().all_gather(device_->choices());
  return rank_.is_first() ? merged_algorithms(choices_of_rank) : std::string();
}

// Each once, whichever ranks have it.
void RunMachine::say_notes() const {
  std::string mine;
  for (const std::string& note : device_->notes()) mine += note + "\n";
  std::set<std::string> said;
  for (const std::string& theirs : rank_.control().all_gather(mine)) {
    std::istringstream notes(theirs);
    for (std::string note; std::getline(notes, note);)
      if (said.insert(note).second) rank_.console().say(folded_lines("note     " + note));
  }
}

void RunMachine::measure() {
  std::array<double, 1> sum = {measure_matmul_rate(*device_, gpt_config(rank_.deck().model).compute_dtype)};
  rank_.control().all_reduce_sum(sum);
  flop_per_second_ = sum[0];
}

parallel::Layout RunMachine::plan_layout() {
  available_bytes_ = kernels::available_memory_bytes();
  parallel::MemoryRoom room = memory_room(*device_, ranks_sharing_device_, rank_.world().ranks_on_host(),
                                          host_memory_to_fill(rank_.deck(), available_bytes_));
  room.probe_bytes = probe_bytes(rank_.deck(), device_->kind(), room);
  room.habits = habits_;
  std::array<double, 2> least = {-static_cast<double>(room.device), -static_cast<double>(room.host)};
  rank_.control().all_reduce_max(least);
  room.device = static_cast<std::size_t>(-least[0]);
  room.host = static_cast<std::size_t>(-least[1]);
  parallel::Layout layout;
  parallel::LayoutRequest request = layout_request(rank_.deck());
  request.has_peers |= rank_.seat() != nullptr;
  rank_.control().agree(
      [&] { layout = parallel::plan_layout(request, flop_per_second_ / rank_.world().size(), room); });
  has_room_for_swap_ = layout.grid.ranks() > 1 && parallel::swap_bytes(layout, room).has_value();
  spare_bytes_ = app::spare_bytes(rank_.deck(), layout, has_room_for_swap_);
  return layout;
}

void RunMachine::check(const parallel::Layout& layout) {
  if (!device_note_.empty()) rank_.console().say("note     " + device_note_);
  say_notes();
  compare_with_cores();
  if (rank_.deck().run.ignore_memory) return;
  const int stage = parallel::ProcessGrid(layout.grid).coordinates_of(rank_.world().rank()).pipeline;
  const parallel::RankMemory& memory = layout.memory_of_stage[static_cast<std::size_t>(stage)];
  check_memory(
      rank_.control(),
      {.host = rank_.world().host(), .needs = host_bytes(memory, *device_), .available = available_bytes_});
}

// Before a replica says that it is there: from then on others wait for it.
resilience::DeviceProbe* RunMachine::create_probe() {
  if (rank_.deck().detect.enabled)
    rank_.control().agree([&] { probe_ = std::make_unique<resilience::DeviceProbe>(*device_); });
  return probe_.get();
}

// Ranks that take turns on a core are stragglers by turns: nothing that anybody could act on.
void RunMachine::compare_with_cores() {
  if (device_->kind() != kernels::DeviceKind::cpu) return;
  const Crowding crowding = crowding_of(rank_.control().all_gather(cores_text(rank_.world().host())),
                                        rank_.seat() ? rank_.seat()->replicas_on_host : 1);
  const int threads = device_->threads();
  judges_times_ = !crowding.is_crowded(threads);
  if (judges_times_) return;
  const std::string of_threads = threads == 1 ? "" : format(" of %d threads", threads);
  rank_.console().say(
      format("note     %d rank%s%s on %d core%s: times are not judged, stragglers and changes of %.0f %% go "
             "to events.jsonl",
             crowding.ranks, crowding.ranks == 1 ? "" : "s", of_threads.c_str(), crowding.cores,
             crowding.cores == 1 ? "" : "s", 100 * kCrowdedChange));
}

parallel::PipelineContext RunMachine::create_context(const parallel::Layout& layout) {
  const io::Deck& deck = rank_.deck();
  rank_.control().agree([&] {
    injector_ = resilience::create_fault_injector(
        link_fault_requests(deck), parallel::ProcessGrid(layout.grid), layout.schedule.microbatches());
    if (injector_) injected_world_ = injector_->wrap(observed_world(), {deck.comm.deadline_s});
  });
  const bool delegates = layout.grid.pipeline > 1 && deck.pipeline.p2p != io::P2p::direct;
  if (delegates || rank_.seat() || (emulated_ && rank_.world().size() > 1)) {
    locked_bytes_ = locked_bytes(deck, layout, *device_);
    create_transport();
    if (rank_.seat()) create_state_transport();
    rank_.console().say(folded_lines(run_transport_.text()->line()));
  }
  say_idle_faults();
  comm::World& injected = injected_world_ ? *injected_world_ : observed_world();
  if (hang_faults_) hanging_world_ = hang_faults_->wrap(injected, {deck.comm.deadline_s});
  comm::World& world = hanging_world_ ? *hanging_world_ : injected;
  return {.options = pipeline_options(deck),
          .world = world,
          .device = *device_,
          .transport = transport_.get(),
          .peers = peers_};
}

// No warning: of a replica that would be taken for its last words.
void RunMachine::say_idle_faults() const {
  std::vector<std::string> idle = faults_without_link(rank_.deck());
  for (std::string& fault : faults_without_path(rank_.deck(), peers_)) idle.push_back(std::move(fault));
  for (const std::string& fault : idle) rank_.console().say(folded_lines("note     " + fault));
}

// What is injected comes on top of it.
comm::World& RunMachine::observed_world() {
  comm::World& inner = prepared_world_ ? *prepared_world_ : rank_.world();
  if (!rank_.recorder()) return inner;
  if (!recorded_world_)
    recorded_world_ = std::make_unique<resilience::RecordedWorld>(
        inner, *rank_.recorder(), comm::CommOptions{rank_.deck().comm.deadline_s});
  return *recorded_world_;
}

resilience::StepPoints& RunMachine::step_points() {
  resilience::StepPoints& processes = replica_injector_ ? *replica_injector_ : nobody_;
  if (hang_faults_) hang_faults_->pass_on_to(processes);
  resilience::StepPoints& injected = hang_faults_ ? *hang_faults_ : processes;
  if (!rank_.recorder()) return injected;
  if (!recorded_steps_) recorded_steps_.emplace(injected, *rank_.recorder());
  return *recorded_steps_;
}

// One that some rank could not make is made anew by all.
void RunMachine::connect_ranks() {
  if (!peers_.empty()) return;
  transport_.reset();
  create_transport();
}

void RunMachine::inject_into_replica() {
  if (!rank_.seat() || rank_.deck().inject.empty()) return;
  replica_injector_ = std::make_unique<resilience::ReplicaFaultInjector>(
      replica_fault_requests(rank_.deck()), peer_delays(rank_.deck()), fault_seat());
  transport_ = replica_injector_->wrap(std::move(transport_));
}

// What comes between two replicas' ranks comes between them on any network.
void RunMachine::create_state_transport() {
  const io::Deck& deck = rank_.deck();
  if (deck.replicas.state_interfaces.empty()) return;
  rank_.control().agree([&] {
    state_transport_ = comm::create_transport({.kind = comm::TransportKind::tcp,
                                               .interfaces = deck.replicas.state_interfaces,
                                               .deadline_s = deck.comm.deadline_s,
                                               .secret = comm::JobSecret::parse(rank_.seat()->secret)});
    if (replica_injector_) state_transport_ = replica_injector_->wrap(std::move(state_transport_));
  });
}

comm::MessageConnector RunMachine::message_connector() const {
  const comm::MessageConnector direct = [](const comm::MessageClientOptions& options) {
    return std::make_unique<comm::MessageClient>(options);
  };
  return replica_injector_ ? replica_injector_->wrap(direct) : direct;
}

void RunMachine::create_transport() {
  transport_ = run_transport_.create(locked_bytes_);
  comm::World& world = rank_.world();
  rank_.control().agree([&] {
    if (hang_faults_) transport_ = hang_faults_->wrap(std::move(transport_));
    if (injector_) transport_ = injector_->wrap(std::move(transport_), world.rank());
    inject_into_replica();
  });
  if (rank_.recorder())
    transport_ = std::make_unique<resilience::RecordedTransport>(std::move(transport_), *rank_.recorder());
  transport_ = run_transport_.watch(std::move(transport_));
  peers_ = comm::exchange_peers(rank_.control(), *transport_, world.rank(), world.host());
}

}  // namespace tenax::app
