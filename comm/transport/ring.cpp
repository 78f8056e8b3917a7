#include "comm/transport/ring.hpp"

#include <algorithm>
#include <cstring>

namespace tenax::comm {
namespace {

constexpr std::size_t kPiece = std::size_t{128}
                               << 10;  // the other end copies one while this end copies the next

}  // namespace

template <class Ready>
Ring::Outcome Ring::wait_at(FutexEvent& event, const Ready& ready, kernels::Deadline deadline,
                            const Alive& alive) const {
  return event.wait(
      ready, [&] { return control_.closed.load() != 0 || !alive(); }, deadline);
}

/// Of how many bytes the ring would hold.
bool Ring::is_possible(std::uint64_t filled) {
  if (filled <= kCapacity) return true;
  is_damaged_ = true;
  close();
  return false;
}

bool Ring::has_space() {
  const std::uint64_t filled = written_ - control_.read.load();
  return is_possible(filled) && filled < kCapacity;
}

bool Ring::has(std::uint64_t bytes) {
  const std::uint64_t filled = control_.written.load() - read_;
  return is_possible(filled) && filled >= bytes;
}

/// Copies what fits in one piece, and counts it; 0 when there is no room or the ring is damaged.
std::size_t Ring::put(std::span<const std::byte> bytes) {
  const std::uint64_t filled = written_ - control_.read.load();
  if (!is_possible(filled)) return 0;
  const std::size_t offset = written_ % kCapacity;
  const std::size_t count = std::min({bytes.size(), kCapacity - filled, kCapacity - offset, kPiece});
  if (count == 0) return 0;
  std::memcpy(bytes_ + offset, bytes.data(), count);
  written_ += count;
  control_.written.store(written_);
  control_.data.notify();
  return count;
}

std::size_t Ring::get(std::span<std::byte> bytes) {
  const std::uint64_t filled = control_.written.load() - read_;
  if (!is_possible(filled)) return 0;
  const std::size_t offset = read_ % kCapacity;
  const std::size_t count = std::min({bytes.size(), filled, kCapacity - offset, kPiece});
  if (count == 0) return 0;
  std::memcpy(bytes.data(), bytes_ + offset, count);
  read_ += count;
  control_.read.store(read_);
  control_.space.notify();
  return count;
}

Ring::Outcome Ring::write(std::span<const std::byte> bytes, kernels::Deadline deadline, const Alive& alive) {
  while (!bytes.empty()) {
    if (control_.closed.load() != 0) return Outcome::over;
    const Outcome outcome = wait_at(
        control_.space, [this] { return has_space(); }, deadline, alive);
    if (outcome != Outcome::done) return outcome;
    const std::size_t count = put(bytes);
    if (count == 0) return Outcome::over;
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

Ring::Outcome Ring::wait_for(std::size_t bytes, kernels::Deadline deadline, const Alive& alive) {
  return wait_at(
      control_.data, [&] { return has(bytes); }, deadline, alive);
}

Ring::Outcome Ring::read(std::span<std::byte> bytes, kernels::Deadline deadline, const Alive& alive) {
  while (!bytes.empty()) {
    const Outcome outcome = wait_for(1, deadline, alive);
    if (outcome != Outcome::done) return outcome;
    const std::size_t count = get(bytes);
    if (count == 0) return Outcome::over;
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

std::size_t Ring::write_some(std::span<const std::byte> bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const std::size_t count = put(bytes.subspan(written));
    if (count == 0) break;
    written += count;
  }
  return written;
}

std::size_t Ring::read_some(std::span<std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::size_t count = get(bytes.subspan(taken));
    if (count == 0) break;
    taken += count;
  }
  return taken;
}

// Who sleeps says so, then looks once more; who changes something looks for a sleeper afterwards. So at least one of
// the two sees the other.
bool Ring::may_sleep_reading() {
  control_.reader_polls.store(1);
  if (!has(1) && !is_closed()) return true;
  control_.reader_polls.store(0);
  return false;
}

bool Ring::may_sleep_writing() {
  control_.writer_polls.store(1);
  if (!has_space() && !is_closed()) return true;
  control_.writer_polls.store(0);
  return false;
}

void Ring::close() noexcept {
  control_.closed.store(1);
  control_.data.notify_always();
  control_.space.notify_always();
}

}  // namespace tenax::comm
