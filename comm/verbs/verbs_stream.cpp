#include "comm/verbs/verbs_stream.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr double kFinish_s = 0.1;  // for what was written to arrive

}  // namespace

template <class Work>
auto VerbsStream::or_fail(Work work) {
  parts_.begin();
  try {
    return work();
  } catch (const kernels::Error&) {
    parts_.fail();
    throw;
  }
}

std::size_t VerbsStream::write_some(std::span<const std::byte> head, std::span<const std::byte> tail) {
  return or_fail([&] { return parts_.outgoing.write_some(head, tail); });
}

/// What came before the connection broke is read first.
std::span<const std::byte> VerbsStream::peek() {
  return or_fail([&] {
    const std::span<const std::byte> come = parts_.incoming.peek();
    if (come.empty()) {
      parts_.incoming.check_known();
      parts_.outgoing.check_known();
    }
    return come;
  });
}

std::size_t VerbsStream::read_some(std::span<std::byte> bytes) {
  if (bytes.empty()) return 0;
  const std::span<const std::byte> come = peek();
  const std::size_t count = std::min(come.size(), bytes.size());
  std::copy_n(come.begin(), count, bytes.begin());
  if (count > 0) take(count);
  return count;
}

/// Why it is broken is for read_some() to say.
bool VerbsStream::prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) try {
  const bool may_sleep = parts_.incoming.may_sleep() && parts_.outgoing.may_sleep(wants_room) &&
                         parts_.peer.look() == PeerSocket::State::open && !parts_.peer.is_shut_down();
  if (!may_sleep) return false;
  polled.push_back({parts_.incoming.queue_pair().channel(), POLLIN, 0});
  polled.push_back({parts_.outgoing.queue_pair().channel(), POLLIN, 0});
  parts_.peer.add_to(polled);
  return true;
} catch (const kernels::Error&) {
  parts_.fail();
  return false;
}

/// Without an answer to what is left the queue pair is drained: nothing is read from its memory any more.
void VerbsStream::finish() {
  if (parts_.outgoing.finish_quietly(kernels::Deadline::after_s(kFinish_s)))
    parts_.peer.tell({.kind = PeerNotice::Kind::goodbye, .count = parts_.outgoing.frames()});
  else
    parts_.outgoing.give_up();
}

}  // namespace tenax::comm::verbs
