// Memory order. A slot's version is made odd by a read-modify-write that is also an acquire, so that the words after it
// are not stored before; and even by a release, so that they are not stored after. A reader loads the words by acquires,
// between two loads of the version. Counters stand alone.
#include "resilience/recorder/recorder.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>

namespace tenax::resilience {
namespace {

using std::memory_order_acq_rel;
using std::memory_order_relaxed;
using std::memory_order_release;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::uint64_t whole_version(std::uint64_t ticket) { return 2 * ticket + 2; }

}  // namespace

Recorder::Recorder(const std::filesystem::path& file, const Seat& seat)
    : seat_(seat), path_(file), map_(RecorderMap::create(file)), file_(*map_) {
  file_.replica = seat.replica;
  file_.rank = seat.rank;
  file_.pid = getpid();
  put_text(file_.host.data(), file_.host.size(), seat.host);
  file_.moved_ns = now_ns();
  file_.magic.store(RecorderFile::kMagic, memory_order_release);
}

Recorder::~Recorder() {
  std::error_code gone;
  std::filesystem::remove(path_, gone);
}

void Recorder::take_place(int replica) {
  seat_.replica = replica;
  file_.replica = replica;
}

int Recorder::add_channel(const std::string& name, ChannelKind kind, int place, int size) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < RecorderFile::kChannels; ++i) {
    RecorderChannel& channel = file_.channels[i];
    if (channel.version.load(memory_order_relaxed) != 0) continue;
    channel.version.exchange(1, memory_order_acq_rel);
    channel.kind.store(static_cast<std::uint8_t>(kind), memory_order_relaxed);
    channel.place.store(place, memory_order_relaxed);
    channel.size.store(size, memory_order_relaxed);
    channel.started.store(0, memory_order_relaxed);
    channel.finished.store(0, memory_order_relaxed);
    put_text(channel.name.data(), channel.name.size(), name);
    channel.version.store(2, memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void Recorder::remove_channel(int channel) {
  const std::lock_guard lock(mutex_);
  if (RecorderChannel* const known = channel_of(channel)) known->version.store(0, memory_order_release);
}

RecorderChannel* Recorder::channel_of(int channel) {
  return channel < 0 ? nullptr : &file_.channels[static_cast<std::size_t>(channel)];
}

// Null where later operations have taken its place.
RecorderSlot* Recorder::slot_of(const Ticket& ticket) {
  RecorderSlot& slot = file_.slots[ticket.number % RecorderFile::kSlots];
  return slot.version.load(memory_order_relaxed) == whole_version(ticket.number) ? &slot : nullptr;
}

Recorder::Ticket Recorder::begin(OperationKind kind, int channel, std::int64_t bytes, std::string_view label,
                                 std::int64_t number) {
  if (RecorderChannel* const known = channel_of(channel)) {
    const std::int64_t next = known->started.fetch_add(1, memory_order_relaxed);
    if (number < 0)
      number = next;
    else
      known->started.store(number + 1, memory_order_relaxed);
  }
  const std::uint64_t ticket = file_.tickets.fetch_add(1, memory_order_relaxed);
  RecorderSlot& slot = file_.slots[ticket % RecorderFile::kSlots];
  const std::int64_t time_ns = now_ns();
  slot.version.exchange(whole_version(ticket) - 1, memory_order_acq_rel);
  slot.number.store(number, memory_order_relaxed);
  slot.bytes.store(bytes, memory_order_relaxed);
  slot.step.store(file_.step.load(memory_order_relaxed), memory_order_relaxed);
  slot.started_ns.store(time_ns, memory_order_relaxed);
  slot.finished_ns.store(0, memory_order_relaxed);
  slot.channel.store(channel, memory_order_relaxed);
  slot.looks.store(0, memory_order_relaxed);
  slot.kind.store(static_cast<std::uint8_t>(kind), memory_order_relaxed);
  slot.stands.store(0, memory_order_relaxed);
  for (std::size_t i = 0; i < slot.label.size(); ++i)
    slot.label[i].store(i < label.size() ? label[i] : '\0', memory_order_relaxed);
  slot.version.store(whole_version(ticket), memory_order_release);
  file_.moved_ns.store(time_ns, memory_order_relaxed);
  return {ticket, channel};
}

// Counted also where its slot is another one's by now; of an exchange, whose numbers are steps, only where it is not.
void Recorder::end(const Ticket& ticket) {
  RecorderSlot* const slot = slot_of(ticket);
  const std::int64_t time_ns = now_ns();
  file_.moved_ns.store(time_ns, memory_order_relaxed);
  if (RecorderChannel* const known = channel_of(ticket.channel)) {
    if (known->kind.load(memory_order_relaxed) != static_cast<std::uint8_t>(ChannelKind::exchange))
      known->finished.fetch_add(1, memory_order_relaxed);
    else if (slot)
      known->finished.store(slot->number.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }
  if (slot) slot->finished_ns.store(time_ns, memory_order_release);
}

void Recorder::look(const Ticket& ticket) {
  if (RecorderSlot* const slot = slot_of(ticket))
    slot->looks.store(slot->looks.load(memory_order_relaxed) + 1, memory_order_relaxed);
}

void Recorder::stand(const Ticket& ticket, bool stands) {
  if (RecorderSlot* const slot = slot_of(ticket)) slot->stands.store(stands ? 1 : 0, memory_order_relaxed);
}

void Recorder::count(int channel, std::int64_t amount) {
  RecorderChannel* const known = channel_of(channel);
  if (!known) return;
  known->started.fetch_add(amount, memory_order_relaxed);
  known->finished.fetch_add(amount, memory_order_relaxed);
}

void Recorder::reach(Phase phase, std::int64_t step) {
  const std::int64_t time_ns = now_ns();
  file_.moved_ns.store(time_ns, memory_order_relaxed);
  if (phase == Phase::passes) {
    file_.step.store(step, memory_order_relaxed);
    file_.step_begun_ns.store(time_ns, memory_order_relaxed);
    file_.steps.fetch_add(1, memory_order_relaxed);
  }
  file_.phase.store(static_cast<std::int32_t>(phase), memory_order_release);
}

}  // namespace tenax::resilience
