#include "comm/ftar/ftar_control.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tenax::comm {
namespace {

constexpr double kLongestEnd_s = 60;  // of a worker that is asked to end: it answers within milliseconds

}  // namespace

FtarControl::FtarControl() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw_link_error("exchanging between replicas", "no eventfd", errno);
}

void FtarControl::add(std::unique_ptr<BucketExchange> bucket) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return bucket->outcome().fail(*failure_);
    added_.push_back(std::move(bucket));
  }
  wake();
}

std::unique_ptr<BucketExchange> FtarControl::take() {
  const std::lock_guard lock(mutex_);
  if (added_.empty()) return nullptr;
  std::unique_ptr<BucketExchange> first = std::move(added_.front());
  added_.pop_front();
  return first;
}

void FtarControl::add(const LinkTransfers& transfers) {
  if (transfers.buckets == 0) return;
  const std::lock_guard lock(mutex_);
  transfers_.seconds += transfers.seconds;
  transfers_.buckets += transfers.buckets;
}

LinkTransfers FtarControl::take_transfers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(transfers_, {});
}

void FtarControl::ask_for_end() {
  is_end_asked_ = true;
  wake();
}

void FtarControl::abort() {
  ask_for_end();
  signal_.wait_until([this] { return is_broken_.load(); }, kernels::Deadline::after_s(kLongestEnd_s));
}

bool FtarControl::wait(const Outcome& outcome, kernels::Deadline deadline) {
  return signal_.wait_until([&] { return outcome.is_over(); }, deadline);
}

void FtarControl::break_off(FtarFailure failure, bool is_first) {
  {
    const std::lock_guard lock(mutex_);
    failure.is_cancelled = !is_first;
    for (const auto& bucket : std::exchange(added_, {})) {
      bucket->outcome().fail(failure);
      failure.is_cancelled = true;
    }
    failure.is_cancelled = true;
    failure_ = std::move(failure);
  }
  is_broken_ = true;
  signal_.notify();
}

void FtarControl::wake() {
  const std::uint64_t one = 1;
  // Where it cannot count on, it is readable.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

void FtarControl::answer_wake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
}

}  // namespace tenax::comm
