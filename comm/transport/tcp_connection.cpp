// On the wire: a header (message_wire.hpp), then its payload.
#include "comm/transport/connections.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>

#include "comm/polled_stream.hpp"
#include "comm/transport/message_wire.hpp"
#include "comm/transport/tcp_socket.hpp"

namespace tenax::comm {
namespace {

/// A process that ends closes or resets its connections.
bool tells_of_the_way(int error_number) {
  return error_number == ETIMEDOUT || error_number == EHOSTUNREACH || error_number == ENETUNREACH ||
         error_number == ENETDOWN;
}

class TcpConnection final : public Connection, public PolledStream {
 public:
  TcpConnection(FileDescriptor socket, std::string address, double silence_s)
      : socket_(std::move(socket)), address_(std::move(address)), name_(describe_tcp_socket(socket_.get())) {
    set_tcp_options(socket_.get(), silence_s);
  }

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    assert(header.payload_bytes == payload.size());
    HeaderBytes head = encode(header);
    std::array<iovec, 2> parts = {
        iovec{head.data(), head.size()},
        iovec{const_cast<std::byte*>(payload.data()), payload.size()}};  // sendmsg only reads
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = payload.empty() ? 1 : 2;
    while (message.msg_iovlen > 0) skip(message, send_some(message, deadline));
  }

  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    while (incoming_bytes_ < incoming_.size()) {
      const std::size_t got = receive_some(std::span(incoming_).subspan(incoming_bytes_), deadline);
      if (got == 0) return std::nullopt;
      incoming_bytes_ += got;
    }
    incoming_bytes_ = 0;
    return decode_from(incoming_, name_);
  }

  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override {
    while (!payload.empty()) {
      const std::size_t got = receive_some(payload, deadline);
      if (got == 0)
        throw_link_error(name_, "a message stopped half-way and did not go on before the deadline");
      payload = payload.subspan(got);
    }
  }

  void check() const override {
    char next = 0;
    const ssize_t seen = recv(socket_.get(), &next, 1, MSG_DONTWAIT | MSG_PEEK);
    if (seen == 0) throw_link_error(name_, lost());
    if (seen < 0 && errno != EAGAIN && errno != EINTR) throw_lost(errno);
  }
  void shut_down() noexcept override {
    is_shut_down_ = true;
    shutdown(socket_.get(), SHUT_RDWR);
  }

  PolledStream* stream() override { return this; }
  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override {
    std::array<iovec, 2> parts = {iovec{const_cast<std::byte*>(head.data()), head.size()},
                                  iovec{const_cast<std::byte*>(tail.data()), tail.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) throw_lost(errno);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  std::size_t read_some(std::span<std::byte> bytes) override {
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0 && !bytes.empty()) throw_link_error(name_, lost());
    if (got < 0 && errno != EAGAIN && errno != EINTR) throw_lost(errno);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  int socket() const override { return socket_.get(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override {
    polled.push_back({socket_.get(), static_cast<short>(wants_room ? POLLIN | POLLOUT : POLLIN), 0});
    return true;
  }

  const std::string& address() const override { return address_; }
  std::string describe() const override { return name_; }
  bool has_lost_its_way() const override { return has_lost_its_way_; }

 private:
  std::size_t send_some(const msghdr& message, kernels::Deadline deadline) {
    for (;;) {
      const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) return static_cast<std::size_t>(sent);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) throw_lost(errno);
      if (!wait_for_socket(socket_.get(), POLLOUT, deadline))
        throw_link_error(name_, "the other end took nothing more before the deadline");
    }
  }

  /// 0 if the deadline came first.
  std::size_t receive_some(std::span<std::byte> memory, kernels::Deadline deadline) {
    for (;;) {
      const ssize_t got = recv(socket_.get(), memory.data(), memory.size(), MSG_DONTWAIT);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) throw_link_error(name_, lost());
      if (errno == EINTR) continue;
      if (errno != EAGAIN) throw_lost(errno);
      if (!wait_for_socket(socket_.get(), POLLIN, deadline)) return 0;
    }
  }

  static void skip(msghdr& message, std::size_t bytes) {
    while (message.msg_iovlen > 0 && bytes >= message.msg_iov->iov_len) {
      bytes -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) return;
    message.msg_iov->iov_base = static_cast<std::byte*>(message.msg_iov->iov_base) + bytes;
    message.msg_iov->iov_len -= bytes;
  }

  [[noreturn]] void throw_lost(int error_number) const {
    if (tells_of_the_way(error_number)) has_lost_its_way_ = true;
    throw_link_error(name_, lost(), error_number);
  }
  std::string lost() const { return is_shut_down_ ? "shut down" : "the connection is lost"; }

  FileDescriptor socket_;
  std::string address_, name_;
  std::atomic<bool> is_shut_down_{false};
  mutable std::atomic<bool> has_lost_its_way_{false};
  HeaderBytes incoming_{};  // a header, of which the first incoming_bytes_ are here
  std::size_t incoming_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Connection> create_tcp_connection(FileDescriptor socket, std::string address,
                                                  double silence_s) {
  return std::make_unique<TcpConnection>(std::move(socket), std::move(address), silence_s);
}

}  // namespace tenax::comm
