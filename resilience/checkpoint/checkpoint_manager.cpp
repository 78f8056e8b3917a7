#include "resilience/checkpoint/checkpoint_manager.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <utility>

#include "comm/failure.hpp"
#include "kernels/new_thread.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::resilience {

CheckpointManager::CheckpointManager(CheckpointOptions options, std::unique_ptr<comm::ControlGroup> group,
                                     std::vector<io::StateRange> ranges)
    : options_(std::move(options)), group_(std::move(group)), ranges_(std::move(ranges)) {
  group_->agree([&] {
    if (group_->rank() != 0) return;
    if (options_.writer.empty())
      prepare_checkpoint_directory(options_.directory);
    else
      make_checkpoint_directory(options_.directory);
  });
}

CheckpointManager::~CheckpointManager() {
  if (!running_.valid()) return;
  if (std::uncaught_exceptions() > exceptions_) group_->hurry(options_.unwinding_s);
  running_.wait();  // before the group and the staging memory go
}

void CheckpointManager::set_state(std::vector<io::StateRange> ranges, std::function<void()> fetch,
                                  std::string rank_places) {
  assert(!running_.valid());
  options_.origin.rank_places = std::move(rank_places);
  options_.fetch = std::move(fetch);
  ranges_ = std::move(ranges);
  staged_.clear();
  staging_.reset();
}

SaveRequest CheckpointManager::request(std::int64_t step, std::string deck,
                                       std::optional<std::int64_t> next_sample) const {
  return {options_.directory,
          options_.keep,
          step,
          options_.model,
          std::move(deck),
          options_.origin,
          next_sample.value_or(step * options_.global_batch_size),
          options_.writer,
          options_.room_wait_s,
          &is_abandoned_};
}

void CheckpointManager::save_async(std::int64_t step, std::string deck,
                                   std::optional<std::int64_t> next_sample) {
  if (running_.valid()) collect();
  snapshot_begin_s_ = kernels::steady_now_s();
  snapshot();
  begin(request(step, std::move(deck), next_sample), options_.fetch ? ranges_ : staged_);
}

void CheckpointManager::save_in_place(std::int64_t step, std::string deck,
                                      std::optional<std::int64_t> next_sample) {
  if (running_.valid()) collect();
  if (options_.fetch) options_.fetch();
  begin(request(step, std::move(deck), next_sample), ranges_);
}

// Where a rank gets no thread the save fails on all: it tells the others in the place of the thread.
void CheckpointManager::begin(SaveRequest job, const std::vector<io::StateRange>& ranges) {
  progress_s_ = kernels::steady_now_s();
  is_abandoned_ = false;
  try {
    running_ = kernels::new_async([this, job, &ranges] {
      return save_checkpoint(*group_, job, ranges, [this] { progress_s_ = kernels::steady_now_s(); });
    });
    return;
  } catch (const kernels::Error& no_thread) {
    job.refusal = comm::this_host() + ": " + no_thread.what();
  }
  reports_.push_back(save_checkpoint(*group_, job, ranges));
}

SaveReport CheckpointManager::save(std::int64_t step, std::string deck,
                                   std::optional<std::int64_t> next_sample) {
  if (running_.valid()) collect();
  if (options_.fetch) options_.fetch();
  is_abandoned_ = false;
  return save_checkpoint(*group_, request(step, std::move(deck), next_sample), ranges_);
}

std::optional<SaveReport> CheckpointManager::poll() {
  if (running_.valid() && running_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) collect();
  if (reports_.empty()) return {};
  SaveReport report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

bool CheckpointManager::is_saving() const {
  return running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

bool CheckpointManager::wait_some(double seconds, double patience_s) {
  if (!running_.valid()) return false;
  if (running_.wait_until(kernels::Deadline::after_s(seconds).when()) == std::future_status::ready) {
    collect();
    return false;
  }
  if (kernels::steady_now_s() - progress_s_ > patience_s)
    throw kernels::Error(kernels::Scope::rank, "the checkpoint in " + options_.directory.string() +
                                                   " was not written in time: its disk is slow or hangs");
  return true;
}

void CheckpointManager::wait(double patience_s, const std::function<void()>& waiting) {
  constexpr double kRound_s = 1;
  while (wait_some(kRound_s, patience_s)) waiting();
}

void CheckpointManager::abandon(double patience_s, const std::function<void()>& waiting) {
  is_abandoned_ = true;
  wait(patience_s, waiting);
}

void CheckpointManager::collect() { reports_.push_back(running_.get()); }

void CheckpointManager::snapshot() {
  if (options_.fetch)
    options_.fetch();
  else
    stage();
}

std::size_t CheckpointManager::copied_floats() const {
  std::size_t floats = 0;
  for (const io::StateRange& range : ranges_)
    if (range.primary) floats += static_cast<std::size_t>(range.count) * range.parts.size();
  return floats;
}

bool CheckpointManager::has_room_for_copy() const {
  constexpr double kUsable = 0.9;
  if (options_.fetch || staging_) return true;
  const double all = static_cast<double>(copied_floats() * sizeof(float)) * options_.ranks_on_host;
  return all <= kUsable * static_cast<double>(options_.available_bytes());
}

void CheckpointManager::stage() {
  if (!staging_) {
    std::copy_if(ranges_.begin(), ranges_.end(), std::back_inserter(staged_),
                 [](const auto& r) { return r.primary; });
    staging_ = std::make_unique_for_overwrite<float[]>(copied_floats());
  }
  float* free = staging_.get();
  const auto copy = [&free](const float* from, std::int64_t count) {
    std::memcpy(free, from, static_cast<std::size_t>(count) * sizeof(float));
    return std::exchange(free, free + count);
  };
  auto staged = staged_.begin();
  for (const io::StateRange& range : ranges_) {
    if (!range.primary) continue;
    for (std::size_t i = 0; i < range.parts.size(); ++i)
      staged->parts[i].data = copy(range.parts[i].data, range.count);
    ++staged;
  }
}

}  // namespace tenax::resilience
