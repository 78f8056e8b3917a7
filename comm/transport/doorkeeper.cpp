#include "comm/transport/doorkeeper.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/prompt_thread.hpp"

namespace tenax::comm {
namespace {

constexpr double kPatience_s = 5;  // for a greeting
constexpr int kTick_ms = 1000;     // how often impatience is looked at, while somebody is on the doorstep

/// recv that also takes a descriptor sent along (SCM_RIGHTS).
ssize_t receive_with_descriptor(int socket, void* data, std::size_t bytes, FileDescriptor& attached) {
  iovec part{data, bytes};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got <= 0) return got;
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(item), sizeof descriptor);
    attached = FileDescriptor(descriptor);
  }
  return got;
}

}  // namespace

Doorkeeper::Doorkeeper(std::vector<ListeningSocket> sockets, Identity me, Welcome welcome)
    : sockets_(std::move(sockets)),
      me_(me),
      welcome_(std::move(welcome)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw_link_error("listening for connections", "no eventfd", errno);
  thread_ = start_prompt_thread([this] { run(); });
}

Doorkeeper::~Doorkeeper() {
  const std::uint64_t one = 1;
  // An eventfd that counts from 0 always has room for 1.
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Doorkeeper::run() {
  for (;;) {
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
    for (const ListeningSocket& door : sockets_) polled.push_back({door.socket.get(), POLLIN, 0});
    for (const Arrival& arrival : arrivals_) polled.push_back({arrival.visitor.socket.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), arrivals_.empty() ? -1 : kTick_ms) < 0) continue;  // EINTR
    if (polled[0].revents != 0) return;

    const std::size_t first_arrival = 1 + sockets_.size(), known = arrivals_.size();
    std::vector<bool> leaves(known, false);
    for (std::size_t i = 0; i < known; ++i) {
      bool leave = false;
      attend(arrivals_[i], polled[first_arrival + i].revents, leave);
      leaves[i] = leave;
    }
    for (std::size_t i = known; i-- > 0;)
      if (leaves[i]) arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      if (polled[1 + i].revents != 0) answer(sockets_[i]);
  }
}

void Doorkeeper::answer(const ListeningSocket& door) {
  FileDescriptor socket(accept4(door.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // Out of descriptors, say: the caller stays in the queue, and is not asked again at once.
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) usleep(10000);
    return;
  }
  arrivals_.push_back(
      {{std::move(socket), {}, {}, door.address}, 0, kernels::Deadline::after_s(kPatience_s)});
}

void Doorkeeper::attend(Arrival& arrival, short events, bool& leaves) {
  leaves = arrival.deadline.expired();
  if (events == 0) return;
  const Progress progress = listen_to(arrival);
  leaves = leaves || progress != Progress::unfinished;
  if (progress != Progress::greeted) return;
  try {
    welcome_(std::move(arrival.visitor));
  } catch (const std::exception&) {
    // The visitor hears of it: its connection is closed without an answer, and its own error says where.
  }
}

Doorkeeper::Progress Doorkeeper::listen_to(Arrival& arrival) const {
  char* const greeting = reinterpret_cast<char*>(&arrival.visitor.greeting);
  const ssize_t got =
      receive_with_descriptor(arrival.visitor.socket.get(), greeting + arrival.greeting_bytes,
                              sizeof(Greeting) - arrival.greeting_bytes, arrival.visitor.attached);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Progress::unfinished;
  if (got <= 0) return Progress::refused;
  arrival.greeting_bytes += static_cast<std::size_t>(got);
  if (arrival.greeting_bytes < sizeof(Greeting)) return Progress::unfinished;
  return arrival.visitor.greeting.is_meant_for(me_) ? Progress::greeted : Progress::refused;
}

}  // namespace tenax::comm
