#include "app/training/run_rank.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "app/options.hpp"
#include "app/units.hpp"
#include "io/run/run_files.hpp"
#include "resilience/recorder/recorded_communicator.hpp"

namespace tenax::app {
namespace {

/// What this process prints from now on.
void write_to(const std::filesystem::path& log) {
  std::fflush(stdout);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw kernels::Error(kernels::Scope::rank, "cannot write to " + log.string());
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(file, stream);
  close(file);
}

}  // namespace

RunRank::RunRank(comm::World& world)
    : world_(world), control_(world.control_group()), console_(world.rank() == 0) {}

void RunRank::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  std::string resolved;
  deck_file_ = file;
  on_first([&] { resolved = io::to_toml(io::read_deck(file, overrides)); });
  set_deck(resolved);
  check_supervisor();
  check_ranks();
}

void RunRank::read_deck_of_replicas(const std::string& file, const std::vector<std::string>& overrides) {
  deck_file_ = file;
  is_supervisor_ = true;
  set_deck(io::to_toml(io::read_deck(file, overrides)));
}

void RunRank::join(const std::filesystem::path& join_file) {
  join_file_ = join_file;
  std::string seat, resolved;
  on_first([&] {
    const JoinFile file = JoinFile::read(join_file);
    seat = file.text();
    resolved = io::to_toml(io::read_deck(file.deck, {}));
  });
  seat_ = JoinFile::parse(control_->broadcast(seat, 0), join_file);
  set_deck(resolved);
  check_ranks();
  start_recorder();
}

// The folder goes with the last that is in it.
RunRank::~RunRank() {
  control_.reset();
  recorder_.reset();
  std::error_code in_use;
  if (!scratch_.empty()) std::filesystem::remove(scratch_, in_use);
}

// A file system of several hosts may show what was there before for a while.
JoinFile RunRank::read_place(resilience::ReplicaId id) const {
  constexpr double kPatience_s = 10;
  const auto file = replica_directory(deck_.run.output_dir, id.replica) / "join";
  const auto latest = kernels::Deadline::after_s(kPatience_s);
  JoinFile place = JoinFile::read(file);
  while (place.incarnation != id.incarnation) {
    if (latest.expired())
      throw kernels::Error(kernels::Scope::rank,
                           format("%s is of incarnation %lld: incarnation %d has no place", file.c_str(),
                                  static_cast<long long>(place.incarnation), id.incarnation));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    place = JoinFile::read(file);
  }
  return place;
}

void RunRank::take_place(resilience::ReplicaId id) {
  std::string place;
  on_first([&] { place = read_place(id).text(); });
  seat_ = JoinFile::parse(control_->broadcast(place, 0), join_file_);
  join_file_ = replica_directory(deck_.run.output_dir, seat_->replica) / "join";
  if (recorder_) recorder_->take_place(seat_->replica);
  control_->agree([&] { write_to(records_directory() / "log"); });
}

// What earlier incarnations have left goes: on other hosts than the supervisor's nobody else removes it. Those of a spare
// may be replicas by now.
void RunRank::start_recorder() {
  scratch_ = scratch_directory(seat_->run_id, seat_->seat(), seat_->incarnation);
  control_->agree([&] {
    if (!seat_->is_spare()) remove_scratch_directories(seat_->run_id, seat_->seat(), scratch_);
    std::filesystem::create_directories(scratch_);
    recorder_ = std::make_unique<resilience::Recorder>(
        scratch_ / resilience::recorder_name(world_.rank()),
        resilience::Recorder::Seat{seat_->replica, world_.rank(), world_.host()});
  });
  control_ = std::make_unique<resilience::RecordedControlGroup>(std::move(control_), "control@0", *recorder_);
}

// Rank 0's, for all.
void RunRank::set_deck(const std::string& resolved) {
  deck_text_ = control_->broadcast(resolved, 0);
  deck_ = io::parse_resolved_deck(deck_text_);
  world_.set_options({deck_.comm.deadline_s});
  control_ = world_.control_group();
}

void RunRank::check_supervisor() const {
  if (deck_.parallel.replicas == 1) return;
  throw comm::AgreedError(
      kernels::Scope::usage,
      format("parallel.replicas = %lld: replicas are started and kept alive by a supervisor; "
             "use tenax launch DECK instead of mpirun",
             static_cast<long long>(deck_.parallel.replicas)));
}

void RunRank::check_ranks() const {
  const io::ParallelSection& p = deck_.parallel;
  if (world_.size() == p.ranks()) return;
  throw comm::AgreedError(
      kernels::Scope::usage,
      format("the deck asks for %lld ranks (tensor %lld x pipeline %lld x data %lld), but %d %s started: "
             "use mpirun -n %lld, or bash app/run.sh, which works it out",
             static_cast<long long>(p.ranks()), static_cast<long long>(p.tensor_parallel_size),
             static_cast<long long>(p.pipeline_parallel_size), static_cast<long long>(p.data_parallel_size),
             world_.size(), world_.size() == 1 ? "was" : "were", static_cast<long long>(p.ranks())));
}

void RunRank::on_first(const std::function<void()>& work) const {
  control_->agree([&] {
    if (is_first()) work();
  });
}

std::unique_ptr<comm::ControlGroup> RunRank::patient_group(double patience_s) const {
  world_.set_options({patience_s});
  auto group = world_.control_group();
  world_.set_options({deck_.comm.deadline_s});
  return group;
}

std::filesystem::path RunRank::records_directory() const {
  return seat_ ? join_file_.parent_path() : std::filesystem::path(deck_.run.output_dir);
}

void RunRank::write_event(const std::string& name, std::int64_t step, const io::JsonObject& details) const {
  io::RunEvent event{
      .step = step, .name = name, .replica = {}, .rank = {}, .host = world_.host(), .details = details};
  if (seat_ && !seat_->is_spare()) event.replica = seat_->replica;
  io::EventsWriter(records_directory()).write(event);
}

}  // namespace tenax::app
