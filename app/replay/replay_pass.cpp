#include "app/replay/replay_pass.hpp"

#include <csignal>
#include <system_error>
#include <utility>

#include "app/launch/last_words.hpp"
#include "app/units.hpp"
#include "io/whole_file.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"
#include "resilience/replay/replay_record.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::steady_now_s;

// Open MPI's files lie in the memory of the host, as those of a replica.
ReplayPass::ReplayPass(Options options, const io::Deck& deck)
    : options_(std::move(options)), progress_s_(steady_now_s()) {
  fs::create_directories(options_.folder);
  io::write_file_atomically(options_.folder / "deck.toml", io::to_toml(deck));
  ReplicaCommand& command = options_.command;
  command.arguments = {"--replay", options_.folder};
  command.scratch = fs::path("/dev/shm") / (options_.folder.parent_path().filename().string() + "-" +
                                            options_.folder.filename().string());
  fs::create_directories(command.scratch);
  process_.emplace(
      ReplicaProcess::start({.words = command.words(), .environment = command.environment(), .log = log()}));
}

// A step outlives a srun that is killed: one that is interrupted ends it, with --quit-on-interrupt.
ReplayPass::~ReplayPass() {
  if (process_) {
    if (options_.command.method == LaunchMethod::srun) process_->send(SIGINT);
    process_->kill_session();
  }
  std::error_code ignored;
  fs::remove_all(options_.command.scratch, ignored);
}

std::uintmax_t ReplayPass::written() const {
  std::uintmax_t bytes = 0;
  for (const fs::path& file : {log(), resilience::replay_file(options_.folder, 0)}) {
    std::error_code absent;
    const std::uintmax_t size = fs::file_size(file, absent);
    if (!absent) bytes += size;
  }
  return bytes;
}

bool ReplayPass::poll() {
  if (const auto status = process_->end_status()) {
    if (*status == 0) return true;
    const std::string words = last_words(log(), 0, *status), own = "tenax: ";
    fail("failed: " + (words.starts_with(own) ? words.substr(own.size()) : words));
  }
  const double now_s = steady_now_s();
  if (const std::uintmax_t bytes = written(); bytes != written_) {
    written_ = bytes;
    progress_s_ = now_s;
  }
  if (now_s - progress_s_ > options_.patience_s)
    fail(format("has shown no progress for %.0f s", options_.patience_s));
  return false;
}

void ReplayPass::fail(const std::string& reason) const {
  throw kernels::Error(kernels::Scope::rank, options_.name + " " + reason);
}

}  // namespace tenax::app
