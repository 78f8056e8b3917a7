#include "app/supervisor/run_standing.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "app/launch/replica_process.hpp"
#include "app/units.hpp"
#include "comm/failure.hpp"
#include "comm/transport/job_secret.hpp"
#include "io/checksum.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

std::string claim_id() {
  std::array<std::byte, 8> bytes;
  comm::fill_randomly(bytes);
  return io::checksum_text(std::bit_cast<std::uint64_t>(bytes));
}

/// Where processes have the numbers that they have here: this start of this machine, this name space of processes.
std::string this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code missing;
  const std::filesystem::path processes = std::filesystem::read_symlink("/proc/self/ns/pid", missing);
  return std::getline(file, boot) && !missing ? boot + " " + processes.string() : "";
}

resilience::Claim claim_of(const io::Deck& deck) {
  return {.host = comm::this_host(),
          .pid = getpid(),
          .start_time = static_cast<std::int64_t>(this_process().start_time),
          .machine = this_machine(),
          .run_directory = std::filesystem::weakly_canonical(deck.run.output_dir).string(),
          .id = claim_id()};
}

/// Known to be: it was a process of this host, and there is none such.
bool is_dead(const resilience::Claim& leader) {
  if (leader.machine.empty() || leader.machine != this_machine() || leader.host != comm::this_host())
    return false;
  const auto process = identify_process(static_cast<pid_t>(leader.pid));
  return !process || static_cast<std::int64_t>(process->start_time) != leader.start_time;
}

}  // namespace

std::unique_ptr<RunStanding> RunStanding::of(const io::Deck& deck) {
  auto store = StoreLink::of(deck.replicas);
  if (!store) return nullptr;
  return std::unique_ptr<RunStanding>(new RunStanding(std::move(store), deck));
}

RunStanding::RunStanding(std::unique_ptr<StoreLink> store, const io::Deck& deck)
    : store_(std::move(store)), lease_({.keys = store_->keys(), .claim = claim_of(deck)}, store_->client()) {}

std::optional<resilience::RunEnd> RunStanding::take_charge(const std::function<bool()>& gives_up,
                                                           Console& console) {
  constexpr std::chrono::milliseconds kBetweenLooks{200};
  while (!gives_up()) {
    try {
      const Look seen = look(console);
      if (seen == Look::leads) return {};
      if (seen == Look::ended) return end_;
    } catch (const Error& error) {
      if (!has_waited() || error.scope() != Scope::link) throw;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return resilience::RunEnd{};
}

RunStanding::Look RunStanding::look(Console& console) {
  resilience::RunLease::View view = lease_.look();
  if (view.leader) check_directory(view.leader->run_directory);
  if (view.leader && is_dead(*view.leader)) {
    lease_.depose(view.term);
    view = lease_.look();
  }
  if (view.leader) {
    if (!has_waited())
      console.say(format("this run is supervised on %s (process %lld): standing by",
                         view.leader->host.c_str(), static_cast<long long>(view.leader->pid)));
    predecessor_ = view.leader;
    return Look::waits;
  }
  end_ = view.end;
  if (end_ && has_waited()) return Look::ended;
  if (const auto directory = store_->client().read(lease_.keys().run_directory(), false); !directory.empty())
    check_directory(directory.front().value);
  takes_over_ = !end_ && !store_->client().read(lease_.keys().service(), false).empty();
  if (!lease_.campaign()) return Look::waits;
  keeper_.emplace(lease_);
  return Look::leads;
}

resilience::RunLease& RunStanding::take_lease() {
  keeper_.reset();
  return lease_;
}

void RunStanding::check_directory(const std::string& other) const {
  if (other == lease_.claim().run_directory) return;
  throw Error(Scope::job, "the keys " + lease_.keys().all() + " of " + store_->client().name() +
                              " are those of the run in " + other +
                              ": name another prefix in replicas.store for each run");
}

}  // namespace tenax::app
