// Who waits says so (has_waiter), looks once more, and sleeps while the bell's number is the one it saw before looking.
// Who changes something looks for a waiter afterwards. All of that is sequentially consistent, so at least one of the two
// sees the other.
#include "comm/transport/ring.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace tenax::comm {
namespace {

constexpr std::size_t kPiece = std::size_t{128}
                               << 10;  // the other end copies one while this end copies the next
constexpr double kLook_s = 0.1;        // between two looks whether the other process is there

void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, kernels::Deadline deadline) {
  using std::chrono::nanoseconds;
  const auto left =
      std::chrono::duration_cast<nanoseconds>(deadline.when() - kernels::Deadline::Clock::now());
  const std::int64_t ns = std::clamp<std::int64_t>(left.count(), 0, static_cast<std::int64_t>(kLook_s * 1e9));
  const timespec timeout{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr,
          0);  // however it ends, the caller looks again
}

void wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void ring(RingControl::Bell& bell) {
  if (bell.has_waiter.load() == 0) return;
  bell.rings.fetch_add(1);
  wake(bell.rings);
}

template <class Ready>
Ring::Outcome wait_at(RingControl::Bell& bell, const Ready& ready, const std::atomic<std::uint32_t>& closed,
                      kernels::Deadline deadline, const Ring::Alive& alive) {
  if (ready()) return Ring::Outcome::done;
  Ring::Outcome outcome = Ring::Outcome::done;
  bell.has_waiter.store(1);
  for (;;) {
    const std::uint32_t seen = bell.rings.load();
    const bool is_over = closed.load() != 0 || !alive();  // asked first: the last bytes may have come before
    if (ready()) break;
    if (is_over || deadline.expired()) {
      outcome = is_over ? Ring::Outcome::closed : Ring::Outcome::deadline;
      break;
    }
    sleep_on(bell.rings, seen, deadline);
  }
  bell.has_waiter.store(0);
  return outcome;
}

}  // namespace

std::uint64_t Ring::readable() const { return control_.written.load() - control_.read.load(); }

Ring::Outcome Ring::write(std::span<const std::byte> bytes, kernels::Deadline deadline, const Alive& alive) {
  while (!bytes.empty()) {
    if (control_.closed.load() != 0) return Outcome::closed;
    const Outcome outcome = wait_at(
        control_.space, [this] { return readable() < kCapacity; }, control_.closed, deadline, alive);
    if (outcome != Outcome::done) return outcome;
    const std::uint64_t at = control_.written.load();
    const std::size_t offset = at % kCapacity;
    const std::size_t count = std::min(
        {bytes.size(), static_cast<std::size_t>(kCapacity - readable()), kCapacity - offset, kPiece});
    std::memcpy(bytes_ + offset, bytes.data(), count);
    control_.written.store(at + count);
    ring(control_.data);
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

Ring::Outcome Ring::wait_for(std::size_t bytes, kernels::Deadline deadline, const Alive& alive) {
  return wait_at(
      control_.data, [&] { return readable() >= bytes; }, control_.closed, deadline, alive);
}

Ring::Outcome Ring::read(std::span<std::byte> bytes, kernels::Deadline deadline, const Alive& alive) {
  while (!bytes.empty()) {
    const Outcome outcome = wait_for(1, deadline, alive);
    if (outcome != Outcome::done) return outcome;
    const std::uint64_t at = control_.read.load();
    const std::size_t offset = at % kCapacity;
    const std::size_t count =
        std::min({bytes.size(), static_cast<std::size_t>(readable()), kCapacity - offset, kPiece});
    std::memcpy(bytes.data(), bytes_ + offset, count);
    control_.read.store(at + count);
    ring(control_.space);
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

void Ring::close() noexcept {
  control_.closed.store(1);
  for (RingControl::Bell* bell : {&control_.data, &control_.space}) {
    bell->rings.fetch_add(1);
    wake(bell->rings);
  }
}

}  // namespace tenax::comm
