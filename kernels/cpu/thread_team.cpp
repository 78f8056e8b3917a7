#include "kernels/cpu/thread_team.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenax::kernels {

void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned mode = _mm_getcsr();
  if ((mode & (kFlushToZero | kDenormalsAreZero)) != (kFlushToZero | kDenormalsAreZero))
    _mm_setcsr(mode | kFlushToZero | kDenormalsAreZero);
#endif
}

struct ThreadTeam::Job {
  const Body& body;
  std::int64_t count;
  int places;  // for helpers
  std::atomic<std::int64_t> next = 0;
};

ThreadTeam::ThreadTeam(int size) {
  assert(size > 0);
  for (int member = 1; member < size; ++member)
    helpers_.emplace_back([this, member](const std::stop_token& stop) { help(member, stop); });
}

ThreadTeam::~ThreadTeam() = default;

int ThreadTeam::members_for(std::int64_t bytes) const {
  constexpr std::int64_t kBytesOfMember = 256 << 10;  // some 10 us of one core, and of waking another
  return static_cast<int>(std::min<std::int64_t>(bytes / kBytesOfMember + 1, size()));
}

void ThreadTeam::run(std::int64_t count, int most, const Body& body) {
  Job job{body, count, static_cast<int>(std::min<std::int64_t>({count, most, size()})) - 1};
  const int wanted = job.places;
  if (wanted > 0) {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++jobs_;
    error_ = nullptr;
  }
  for (int i = 0; i < wanted; ++i) has_job_.notify_one();
  take_items(job, 0);
  if (wanted <= 0 && !error_) return;
  std::unique_lock lock(mutex_);
  job_ = nullptr;  // nobody joins any more
  job_left_.wait(lock, [this] { return joined_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadTeam::help(int member, const std::stop_token& stop) {
  flush_denormals();
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (has_job_.wait(lock, stop, [&] { return job_ && jobs_ != seen; })) {
    seen = jobs_;
    if (job_->places == 0) continue;
    --job_->places;
    ++joined_;
    Job& job = *job_;
    lock.unlock();
    take_items(job, member);
    lock.lock();
    if (--joined_ == 0) job_left_.notify_one();
  }
}

void ThreadTeam::take_items(Job& job, int member) try {
  for (std::int64_t item = job.next++; item < job.count; item = job.next++) job.body(item, member);
} catch (...) {
  job.next = job.count;
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::current_exception();
}

}  // namespace tenax::kernels
