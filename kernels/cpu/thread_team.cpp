#include "kernels/cpu/thread_team.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "kernels/new_thread.hpp"

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

namespace {

constexpr std::uint32_t kInside = 1, kAllInside = 0xFFF, kPlace = 0x1000, kAllPlaces = 0xFFF000;
constexpr std::uint32_t kNumber = 0x1000000;

// Of some 20 to 40 cycles: as long as the pauses of a step between jobs. A sleeper takes 5 to 50 us to wake.
constexpr int kPauses = 2000;

void pause() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(int size) {
  assert(size > 0 && size <= kMostMembers);
  try {
    for (int member = 1; member < size; ++member)
      helpers_.push_back(new_thread([this, member] { help(member); }));
  } catch (...) {
    end();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { end(); }

void ThreadTeam::end() noexcept {
  ends_ = true;
  ++calls_;
  calls_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

int ThreadTeam::members_for(std::int64_t bytes) const {
  constexpr std::int64_t kBytesOfMember = 256 << 10;  // some 10 us of one core, and of waking another
  return static_cast<int>(std::min<std::int64_t>(bytes / kBytesOfMember + 1, size()));
}

void ThreadTeam::run(std::int64_t count, int most, const Body& body) {
  const int helpers = static_cast<int>(std::min<std::int64_t>({count, most, size()})) - 1;
  if (helpers <= 0) {
    for (std::int64_t item = 0; item < count; ++item) body(item, 0);
    return;
  }
  body_ = &body;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  const std::uint32_t number = (gate_.load(std::memory_order_relaxed) / kNumber + 1) * kNumber;
  gate_ = number + static_cast<std::uint32_t>(helpers) * kPlace;
  wake(helpers);
  take_items(0);
  await_helpers();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Who falls asleep looks at the gate once more after it has counted itself: it sees the job, or is seen here.
void ThreadTeam::wake(int wanted) {
  const int asleep = sleepers_.load(), awake = static_cast<int>(helpers_.size()) - asleep;
  if (wanted <= awake || asleep == 0) return;
  ++calls_;
  for (int i = awake; i < wanted; ++i) calls_.notify_one();
}

void ThreadTeam::await_helpers() {
  std::uint32_t gate = gate_.fetch_and(~kAllPlaces) & ~kAllPlaces;  // nobody joins any more
  for (int pauses = 0; (gate & kAllInside) != 0; gate = gate_.load()) {
    if (++pauses < kPauses)
      pause();
    else
      gate_.wait(gate);
  }
}

void ThreadTeam::help(int member) {
  flush_denormals();
  for (std::uint32_t done = 0;;) {
    std::uint32_t gate = await_job(done);
    if (ends_) return;
    if (!gate_.compare_exchange_weak(gate, gate - kPlace + kInside)) continue;
    done = gate / kNumber;
    take_items(member);
    if (((gate_.fetch_sub(kInside) - kInside) & (kAllInside | kAllPlaces)) == 0) gate_.notify_one();
  }
}

bool ThreadTeam::has_job(std::uint32_t gate, std::uint32_t done) const {
  return ends_ || ((gate & kAllPlaces) != 0 && gate / kNumber != done);
}

// Returns what the gate was when there was a job other than number `done`, or the team ends.
std::uint32_t ThreadTeam::await_job(std::uint32_t done) {
  for (int pauses = 0;;) {
    if (const std::uint32_t gate = gate_.load(); has_job(gate, done)) return gate;
    pause();
    if (++pauses < kPauses) continue;
    sleep(done);
    pauses = 0;
  }
}

void ThreadTeam::sleep(std::uint32_t done) {
  const std::uint32_t calls = calls_;
  ++sleepers_;
  if (!has_job(gate_, done)) calls_.wait(calls);
  --sleepers_;
}

void ThreadTeam::take_items(int member) try {
  for (std::int64_t item = next_++; item < count_; item = next_++) (*body_)(item, member);
} catch (...) {
  next_ = count_;
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::current_exception();
}

}  // namespace tenax::kernels
