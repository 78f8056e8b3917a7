#include "comm/messages/event_poll.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace tenax::comm {
namespace {

epoll_event event_of(int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return event;
}

}  // namespace

EventPoll::EventPoll()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !woken_) throw_link_error("waiting for messages", "no epoll or eventfd", errno);
  watch(woken_.get());
}

void EventPoll::watch(int descriptor) {
  epoll_event event = event_of(descriptor, EPOLLIN);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw_link_error("waiting for messages", "cannot watch a socket", errno);
}

void EventPoll::set_interest(int descriptor, Interest interest) {
  std::uint32_t events = 0;
  if (interest != Interest::none) events |= EPOLLIN;
  if (interest == Interest::reads_and_writes) events |= EPOLLOUT;
  epoll_event event = event_of(descriptor, events);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);  // fails for nothing that is watched
}

std::span<const int> EventPoll::wait(kernels::Deadline deadline) {
  std::array<epoll_event, kAtOnce> events;
  int found = -1;
  do found = epoll_wait(epoll_.get(), events.data(), kAtOnce, milliseconds_until(deadline));
  while (found < 0 && errno == EINTR);
  was_woken_ = false;
  std::size_t count = 0;
  for (int i = 0; i < found; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == woken_.get())
      was_woken_ = true;
    else
      ready_[count++] = descriptor;
  }
  std::uint64_t wakes = 0;
  if (was_woken_) static_cast<void>(!read(woken_.get(), &wakes, sizeof wakes));
  return std::span(ready_).first(count);
}

void EventPoll::wake() noexcept {
  const std::uint64_t one = 1;
  // It always has room: nobody wakes 2^64 times between two waits.
  [[maybe_unused]] const ssize_t written = write(woken_.get(), &one, sizeof one);
}

}  // namespace tenax::comm
