// What a connection over soft RDMA learns of the process at its other end.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tests/comm/link_error.hpp"
#include "tests/verbs/guest_ports.hpp"

namespace tenax::comm::verbs {
namespace {

using kernels::Deadline;

/// The other end of a connection, in a process of its own, which sends and takes nothing. It is started while
/// this process has one thread.
class PeerProcess {
 public:
  PeerProcess() {
    one_job();
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
    process_ = fork();
    if (process_ == 0) answer();
    transport_ = transport_over("rxe_a0", 0.5);
    tell(sockets_[0], transport_->addresses()[0]);
    const Peer peer{1, "rank 1 (there)", {hear(sockets_[0])}};
    connection_ = transport_->connect(peer, peer.addresses[0], "test", Deadline::after_s(20));
  }
  ~PeerProcess() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    for (const int socket : sockets_) close(socket);
  }
  Connection& connection() { return *connection_; }
  void signal(int number) { kill(process_, number); }

 private:
  static void tell(int socket, const std::string& line) {
    const std::string text = line + "\n";
    EXPECT_EQ(write(socket, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static std::string hear(int socket) {
    std::string line;
    for (char c = 0; read(socket, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  [[noreturn]] void answer() {
    const auto transport = transport_over("rxe_b0", 0.5);
    tell(sockets_[1], transport->addresses()[0]);
    const Peer peer{0, "rank 0 (there)", {hear(sockets_[1])}};
    const auto connection = transport->accept(peer, "test", Deadline::after_s(20));
    for (;;) pause();
  }

  int sockets_[2]{};
  pid_t process_ = -1;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Connection> connection_;
};

TEST(PeerOverSoftRdma, that_is_killed_is_noticed_at_once) {
  PeerProcess peer;
  EXPECT_FALSE(peer.connection().receive(Deadline::after_s(0.1)).has_value());
  const double began = kernels::steady_now_s();
  peer.signal(SIGKILL);
  const std::string message = error_of([&] { peer.connection().receive(Deadline::after_s(60)); });
  std::printf("a killed peer is noticed after %.3f s\n", kernels::steady_now_s() - began);
  EXPECT_NE(message.find("the process at the other end has left"), std::string::npos) << message;
}

TEST(PeerOverSoftRdma, that_is_stopped_ends_a_send_at_its_deadline) {
  PeerProcess peer;
  peer.signal(SIGSTOP);
  const std::vector<std::byte> payload(std::size_t{8} << 20);
  MessageHeader header;
  header.payload_bytes = payload.size();
  const Deadline deadline = Deadline::after_s(2);
  const std::string message = error_of([&] { peer.connection().send(header, payload, deadline); });
  const std::chrono::duration<double> late = Deadline::Clock::now() - deadline.when();
  std::printf("a stopped peer ends a send %.3f s after its deadline\n", late.count());
  EXPECT_NE(message.find("took nothing more before the deadline"), std::string::npos) << message;
}

}  // namespace
}  // namespace tenax::comm::verbs
