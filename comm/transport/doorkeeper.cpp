#include "comm/transport/doorkeeper.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/prompt_thread.hpp"
#include "comm/transport/introduction.hpp"

namespace tenax::comm {
namespace {

constexpr int kPause_ms = 100;  // while the process has no descriptor for anybody

}  // namespace

Doorkeeper::Doorkeeper(std::vector<ListeningSocket> sockets, Rules rules, Lobby& lobby)
    : sockets_(std::move(sockets)),
      rules_(std::move(rules)),
      lobby_(lobby),
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
    for (const Arrival& arrival : arrivals_) polled.push_back({arrival.socket(), POLLIN, 0});
    for (const ListeningSocket& door : sockets_) polled.push_back({door.socket.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), patience_ms()) < 0) continue;  // EINTR
    if (polled[0].revents != 0) return;

    const std::size_t first_door = 1 + arrivals_.size();
    std::size_t next = 1;
    std::erase_if(arrivals_, [&](Arrival& arrival) { return !stays(arrival, polled[next++].revents); });
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      if (polled[first_door + i].revents != 0) answer(sockets_[i]);
  }
}

/// Until the first arrival's is at an end, and a bit more.
int Doorkeeper::patience_ms() const {
  if (arrivals_.empty()) return -1;
  const auto left = arrivals_.front().deadline().when() - kernels::Deadline::Clock::now();
  return 1 + static_cast<int>(std::max<std::int64_t>(
                 0, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
}

bool Doorkeeper::stays(Arrival& arrival, short events) {
  try {
    const auto progress = events == 0 ? Arrival::Progress::waiting : arrival.attend();
    if (progress == Arrival::Progress::complete) welcome(arrival.take());
    return progress == Arrival::Progress::waiting && !arrival.deadline().expired();
  } catch (const std::exception&) {
    return false;  // the visitor's own error says where
  }
}

/// Whoever is not welcomed sees its connection closed, and comes again.
void Doorkeeper::welcome(Visitor visitor) {
  const Greeting greeting = visitor.greeting;
  const int socket = visitor.socket.get();
  if (!lobby_.has_room(greeting.from, greeting.purpose)) return;
  std::unique_ptr<Connection> connection = rules_.make_connection(std::move(visitor));
  send_welcome(socket, connection->describe());
  lobby_.enter(greeting.from, greeting.purpose, std::move(connection));
}

void Doorkeeper::answer(const ListeningSocket& door) {
  const bool has_room = arrivals_.size() < rules_.most_arrivals || drop_oldest();
  FileDescriptor socket(accept4(door.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || drop_oldest()) return;
    pollfd stop{stop_.get(), POLLIN, 0};  // out of descriptors, say: the caller stays in the queue
    poll(&stop, 1, kPause_ms);
    return;
  }
  if (has_room && is_of_this_user(socket.get()))
    arrivals_.emplace_back(std::move(socket), door.address, Handshake(rules_.secret, rules_.me),
                           rules_.brings);
}

/// Of those that have proven nothing; false if there is none.
bool Doorkeeper::drop_oldest() {
  const auto oldest = std::find_if(arrivals_.begin(), arrivals_.end(),
                                   [](const Arrival& arrival) { return !arrival.is_proven(); });
  if (oldest == arrivals_.end()) return false;
  arrivals_.erase(oldest);
  return true;
}

}  // namespace tenax::comm
