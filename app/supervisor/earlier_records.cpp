#include "app/supervisor/earlier_records.hpp"

#include <chrono>
#include <thread>
#include <variant>

#include "app/launch/unrecorded_commits.hpp"
#include "app/launch/unrecorded_steps.hpp"
#include "app/units.hpp"
#include "kernels/deadline.hpp"
#include "resilience/membership/committed_steps.hpp"

namespace tenax::app {

namespace fs = std::filesystem;

EarlierRecords::EarlierRecords(const io::Deck& deck, RunStore& store) : deck_(deck), store_(store) {
  store_.open(deck_.run.output_dir);
  stored_ = store_.records().load();
}

void EarlierRecords::add_what_was_left(const std::vector<fs::path>& replica_directories) {
  const std::vector<resilience::Record> left = read_unrecorded(replica_directories, stored_);
  const auto deadline = kernels::Deadline::after_s(deck_.comm.deadline_s);
  while (!left.empty() && !store_.records().append(left)) {
    if (deadline.expired())
      throw kernels::Error(kernels::Scope::job, "the store of the run's records does not answer");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  store_.records().sync();
  remove_unrecorded(replica_directories);
  stored_.insert(stored_.end(), left.begin(), left.end());
}

// Steps were done without a supervisor, or those who knew them are gone.
void EarlierRecords::leave_short_ledger(std::int64_t steps, Console& console) {
  resilience::CommittedSteps committed;
  for (const resilience::Record& record : stored_) committed.add(record);
  if (!committed.epoch() || committed.done() >= steps) return;
  const auto kept = store_.begin_anew(deck_.run.output_dir);
  if (!kept) return;  // there was none
  stored_.clear();
  console.warn(format("the run's ledger ends after %lld steps and is kept as %s: a new one begins",
                      static_cast<long long>(committed.done()), kept->c_str()));
}

const resilience::EpochRecord* EarlierRecords::last_epoch() const {
  for (auto record = stored_.rbegin(); record != stored_.rend(); ++record)
    if (const auto* epoch = std::get_if<resilience::EpochRecord>(&*record)) return epoch;
  return nullptr;
}

std::int64_t EarlierRecords::recorded_steps() const {
  return count_recorded_steps(deck_.run.output_dir, stored_, deck_.model.seq_length);
}

std::int64_t EarlierRecords::recorded_steps_before(std::int64_t steps) const {
  return count_recorded_steps_before(steps, deck_.run.output_dir, stored_, deck_.model.seq_length);
}

void EarlierRecords::add_unrecorded(SupervisorRecords& records, std::int64_t limit) const {
  const Unrecorded unrecorded = unrecorded_commits(stored_, records.steps_done());
  records.continue_from(unrecorded.since_s);
  for (const resilience::CommitRecord& commit : unrecorded.commits)
    if (commit.step < limit) records.add_earlier(commit);
}

}  // namespace tenax::app
