#include "app/training/run_rank.hpp"

#include "app/units.hpp"
#include "io/run/run_files.hpp"

namespace tenax::app {

RunRank::RunRank(comm::World& world)
    : world_(world), control_(world.control_group()), console_(world.rank() == 0) {}

void RunRank::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  std::string resolved;
  on_first([&] { resolved = io::to_toml(io::read_deck(file, overrides)); });
  deck_ = io::parse_resolved_deck(control_->broadcast(resolved, 0));
  world_.set_options({deck_.comm.deadline_s});
  control_ = world_.control_group();
  check_supervisor();
  check_ranks();
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

void RunRank::write_event(const std::string& name, std::int64_t step, const io::JsonObject& details) const {
  io::EventsWriter(deck_.run.output_dir)
      .write(
          {.step = step, .name = name, .replica = {}, .rank = {}, .host = world_.host(), .details = details});
}

}  // namespace tenax::app
