#include "comm/transport/ring.hpp"

#include <algorithm>
#include <cstring>

namespace tenax::comm {
namespace {

constexpr std::size_t kPiece = std::size_t{128}
                               << 10;  // the other end copies one while this end copies the next

}  // namespace

template <class Ready>
Ring::Outcome Ring::wait_at(Bell& bell, const Ready& ready, kernels::Deadline deadline,
                            const Alive& alive) const {
  return bell.wait(
      ready, [&] { return control_.closed.load() != 0 || !alive(); }, deadline);
}

std::uint64_t Ring::readable() const { return control_.written.load() - control_.read.load(); }

Ring::Outcome Ring::write(std::span<const std::byte> bytes, kernels::Deadline deadline, const Alive& alive) {
  while (!bytes.empty()) {
    if (control_.closed.load() != 0) return Outcome::over;
    const Outcome outcome = wait_at(
        control_.space, [this] { return readable() < kCapacity; }, deadline, alive);
    if (outcome != Outcome::done) return outcome;
    const std::uint64_t at = control_.written.load();
    const std::size_t offset = at % kCapacity;
    const std::size_t count = std::min(
        {bytes.size(), static_cast<std::size_t>(kCapacity - readable()), kCapacity - offset, kPiece});
    std::memcpy(bytes_ + offset, bytes.data(), count);
    control_.written.store(at + count);
    control_.data.ring();
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

Ring::Outcome Ring::wait_for(std::size_t bytes, kernels::Deadline deadline, const Alive& alive) {
  return wait_at(
      control_.data, [&] { return readable() >= bytes; }, deadline, alive);
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
    control_.space.ring();
    bytes = bytes.subspan(count);
  }
  return Outcome::done;
}

void Ring::close() noexcept {
  control_.closed.store(1);
  control_.data.ring_loudly();
  control_.space.ring_loudly();
}

}  // namespace tenax::comm
