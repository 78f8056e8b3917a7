#include "resilience/diagnosis/link_probe.hpp"

#include <algorithm>
#include <limits>

#include "kernels/deadline.hpp"

namespace tenax::resilience {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::steady_now_s;

/// Collectives number their tags from 0, and none of theirs is under way.
constexpr comm::Tag kTag = comm::kMaxTag - 1;

}  // namespace

LinkProbe::LinkProbe(comm::Communicator& group, kernels::Device& device, double deadline_s)
    : group_(group), device_(device), deadline_s_(deadline_s), stream_(device.create_stream()) {}

std::vector<SentProbe> LinkProbe::run(const std::vector<ProbeRound>& rounds, std::size_t bytes, int times) {
  make_message(bytes);
  std::vector<SentProbe> sent;
  const int me = group_.rank();
  for (const ProbeRound& round : rounds)
    for (const RankPair& pair : round) {
      if (!pair.has(me)) continue;
      const bool is_first = me == pair.a;
      const int peer = is_first ? pair.b : pair.a;
      comm::Link& link = *group_.link(peer);
      meet(link);
      if (!is_first) answer(link, times);
      sent.push_back(send(peer, times));
      if (is_first) answer(link, times);
    }
  return sent;
}

// The message, and a word in each direction.
void LinkProbe::make_message(std::size_t bytes) {
  const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  const std::size_t message_bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (device_.has_data() && (!memory_ || memory_->bytes() < message_bytes + 2 * sizeof(float)))
    memory_ = device_.allocate(message_bytes + 2 * sizeof(float), kernels::MemoryKind::pinned_host);
  const auto part = [&](std::int64_t count, std::size_t offset) {
    return memory_ ? memory_->tensor(DType::f32, {count}, offset)
                   : kernels::Tensor{nullptr, DType::f32, {count}};
  };
  message_ = part(floats, 0);
  sent_word_ = part(1, message_bytes);
  received_word_ = part(1, message_bytes + sizeof(float));
}

// So nobody measures how late its partner came. A word that was sent may still stand in this rank's queue, behind one
// to the partner before, over a slow link. The partner's second word says that the first has arrived.
void LinkProbe::meet(comm::Link& link) {
  for (int word = 0; word < 2; ++word) {
    const auto theirs = link.receive(*stream_, received_word_, kTag);
    const auto mine = link.send(*stream_, sent_word_, kTag);
    wait(*theirs);
    wait(*mine);
  }
}

SentProbe LinkProbe::send(int peer, int times) {
  comm::Link& link = *group_.link(peer);
  SentProbe sent{.peer = peer, .seconds = std::numeric_limits<double>::infinity()};
  for (int time = 0; time < times; ++time) {
    const double begin_s = steady_now_s();
    stream_->input_arrived(begin_s);
    const auto theirs = link.receive(*stream_, received_word_, kTag);
    const auto mine = link.send(*stream_, message_, kTag);
    sent.seconds = std::min(sent.seconds, wait(*theirs) - begin_s);
    wait(*mine);
  }
  return sent;
}

void LinkProbe::answer(comm::Link& link, int times) {
  for (int time = 0; time < times; ++time) {
    const auto theirs = link.receive(*stream_, message_, kTag);
    wait(*theirs);
    wait(*link.send(*stream_, sent_word_, kTag));
  }
}

// The emulated device's messages arrive at times of its own, which its streams are told.
double LinkProbe::wait(comm::Transfer& transfer) {
  const auto deadline = Deadline::after_s(deadline_s_);
  transfer.wait(deadline);
  const double now_s = steady_now_s();
  transfer.order_before(*stream_, deadline);
  return transfer.timing().arrived_s.value_or(now_s);
}

}  // namespace tenax::resilience
