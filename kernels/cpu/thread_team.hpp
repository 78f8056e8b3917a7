// ThreadTeam: a thread and its helpers, which share the items of one job after another.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenax::kernels {

/// Makes the calling thread take denormal inputs for zero and round denormal results to zero: some processors
/// need a hundred cycles for each, and moments of dead units are full of them. Cheap when already set.
void flush_denormals();

/// Helpers that come too late are not waited for: where others keep the cores busy, a job takes no longer
/// than one thread does. A helper without a job looks for the next one for some 20 us, which needs no system
/// call of anybody, and sleeps from then on. run() belongs to one thread at a time.
class ThreadTeam {
 public:
  /// item [0, count), and which member calls: [0, size()), 0 for the thread that called run().
  using Body = std::function<void(std::int64_t item, int member)>;

  /// `size` threads, the caller's included: [1, kMostMembers]. Throws Error(rank) where the system has not as many.
  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  static constexpr int kMostMembers = 4095;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }
  /// How many members are worth waking to read so many bytes of memory together.
  int members_for(std::int64_t bytes) const;
  /// Calls body once for each item, in any order, and returns when all have returned. `most` members at most
  /// take part. Throws what a body threw first; further items may then be left out.
  void run(std::int64_t count, int most, const Body& body);

 private:
  void end() noexcept;
  void help(int member);
  std::uint32_t await_job(std::uint32_t done);
  void sleep(std::uint32_t done);
  bool has_job(std::uint32_t gate, std::uint32_t done) const;
  void wake(int wanted);
  void take_items(int member);
  void await_helpers();

  // The job. Changed while the gate is shut and nobody is inside.
  const Body* body_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_ = 0;
  // From the upper bits: the job's number (8), places that helpers may still take (12), helpers inside (12).
  std::atomic<std::uint32_t> gate_ = 0;
  std::atomic<std::uint32_t> calls_ = 0;  // counts wake-ups
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> ends_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> helpers_;
};

}  // namespace tenax::kernels
