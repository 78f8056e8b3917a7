// ThreadTeam: a thread and its helpers, which share the items of one job after another.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace tenax::kernels {

/// Makes the calling thread take denormal inputs for zero and round denormal results to zero: some processors
/// need a hundred cycles for each, and moments of dead units are full of them. Cheap when already set.
void flush_denormals();

/// Helpers that come too late are not waited for: where others keep the cores busy, a job takes no longer
/// than one thread does. run() belongs to one thread at a time.
class ThreadTeam {
 public:
  /// item [0, count), and which member calls: [0, size()), 0 for the thread that called run().
  using Body = std::function<void(std::int64_t item, int member)>;

  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }
  /// How many members are worth waking to read so many bytes of memory together.
  int members_for(std::int64_t bytes) const;
  /// Calls body once for each item, in any order, and returns when all have returned. `most` members at most
  /// take part. Throws what a body threw first; further items may then be left out.
  void run(std::int64_t count, int most, const Body& body);

 private:
  struct Job;
  void help(int member, const std::stop_token& stop);
  void take_items(Job& job, int member);

  std::mutex mutex_;
  std::condition_variable_any has_job_;
  std::condition_variable job_left_;
  Job* job_ = nullptr;      // that helpers may join
  std::uint64_t jobs_ = 0;  // so far
  int joined_ = 0;          // helpers inside of the job
  std::exception_ptr error_;
  std::vector<std::jthread> helpers_;  // the last member: they end before the others do
};

}  // namespace tenax::kernels
