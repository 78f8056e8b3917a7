#include "comm/transport/connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <deque>

#include "comm/polled_stream.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/transport/descriptor_passing.hpp"
#include "comm/transport/message_wire.hpp"
#include "comm/transport/ring.hpp"
#include "comm/transport/shared_memory.hpp"
#include "comm/transport/shared_memory_area.hpp"

namespace tenax::comm {
namespace {

// The connecting end writes into the first ring, the accepting end into the second.
constexpr std::size_t kStride =
    (Ring::kMemory + SharedMemoryArea::kPage - 1) / SharedMemoryArea::kPage * SharedMemoryArea::kPage;
constexpr std::size_t kBytes = 2 * kStride;
// Behind the rings, without pages until somebody asks for them.
constexpr std::size_t kWhole = kBytes + SharedMemoryArea::kBytes;
// Nobody can take pages away from under the other process.

std::shared_ptr<std::byte> map_rings(const FileDescriptor& memory, const std::string& where) {
  std::shared_ptr<std::byte> rings = map_shared(memory, 0, kBytes);
  if (!rings) throw_link_error(where, "cannot map shared memory", errno);
  return rings;
}

bool is_as_created(const FileDescriptor& memory) {
  struct stat status {};
  return fstat(memory.get(), &status) == 0 && status.st_size == static_cast<off_t>(kWhole) &&
         (fcntl(memory.get(), F_GET_SEALS) & kSharedMemorySeals) == kSharedMemorySeals;
}

class SharedMemoryConnection final : public Connection, public PolledStream {
 public:
  SharedMemoryConnection(FileDescriptor memory, FileDescriptor socket, std::string address, ConnectionEnd end)
      : socket_(std::move(socket)),
        address_(std::move(address)),
        name_(plain_address(address_)),
        rings_(map_rings(memory, name_)),
        area_(std::make_shared<SharedMemoryArea>(std::move(memory), kBytes, end)),
        out_(rings_.get() + (end == ConnectionEnd::connecting ? 0 : kStride)),
        in_(rings_.get() + (end == ConnectionEnd::connecting ? kStride : 0)),
        alive_([this] { return is_peer_there(); }) {}
  ~SharedMemoryConnection() override { shut_down(); }

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override {
    assert(header.payload_bytes == payload.size());
    const HeaderBytes head = encode(header);
    for (const std::span<const std::byte> part : {std::span<const std::byte>(head), payload}) {
      const Ring::Outcome outcome = out_.write(part, deadline, alive_);
      if (outcome == Ring::Outcome::over) throw_link_error(name_, lost());
      if (outcome == Ring::Outcome::deadline)
        throw_link_error(name_, "the other end took nothing more before the deadline");
    }
  }

  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    const Ring::Outcome outcome = in_.wait_for(kHeaderBytes, deadline, alive_);
    if (outcome == Ring::Outcome::over) throw_link_error(name_, lost());
    if (outcome == Ring::Outcome::deadline) return std::nullopt;
    HeaderBytes header{};
    in_.read(header, deadline, alive_);  // is there: does not wait
    return decode_from(header, name_);
  }

  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override {
    const Ring::Outcome outcome = in_.read(payload, deadline, alive_);
    if (outcome == Ring::Outcome::over) throw_link_error(name_, lost());
    if (outcome == Ring::Outcome::deadline)
      throw_link_error(name_, "a message stopped half-way and did not go on before the deadline");
  }

  void shut_down() noexcept override {
    is_shut_down_ = true;
    out_.close();
    in_.close();
    shutdown(socket_.get(), SHUT_RDWR);
  }
  void check() const override {
    if (out_.is_closed() || !is_peer_there()) throw_link_error(name_, lost());
  }
  std::shared_ptr<SharedMemoryArea> area() override { return area_; }

  PolledStream* stream() override { return this; }
  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override;
  std::size_t read_some(std::span<std::byte> bytes) override;
  int socket() const override { return socket_.get(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override;
  bool carries_descriptors() const override { return true; }
  void send_descriptor(int descriptor) override { comm::send_descriptor(socket_.get(), name_, descriptor); }
  int receive_descriptor() override;

  const std::string& address() const override { return address_; }
  std::string describe() const override { return name_; }

 private:
  void ring_other_end();
  void answer_rings();
  bool is_peer_there() const {
    pollfd entry{socket_.get(), 0, 0};  // POLLHUP is told unasked
    return poll(&entry, 1, 0) == 0;
  }
  std::string lost() const {
    if (in_.is_damaged() || out_.is_damaged())
      return "the process at the other end has damaged the shared memory";
    return is_shut_down_ ? "shut down" : "the process at the other end has left";
  }

  FileDescriptor socket_;
  std::string address_, name_;
  std::shared_ptr<std::byte> rings_;
  std::shared_ptr<SharedMemoryArea> area_;
  Ring out_, in_;
  Ring::Alive alive_;
  std::atomic<bool> is_shut_down_{false};
  // Of the stream:
  bool is_hung_up_ = false;
  std::deque<FileDescriptor> descriptors_;  // that have come
};

std::size_t SharedMemoryConnection::write_some(std::span<const std::byte> head,
                                               std::span<const std::byte> tail) {
  if (out_.is_closed()) throw_link_error(name_, lost());
  std::size_t written = out_.write_some(head);
  if (written == head.size()) written += out_.write_some(tail);
  if (written > 0 && out_.is_reader_to_be_rung()) ring_other_end();
  return written;
}

std::size_t SharedMemoryConnection::read_some(std::span<std::byte> bytes) {
  const bool is_over = in_.is_closed() || is_hung_up_;  // asked first: the last bytes may have come before
  const std::size_t taken = in_.read_some(bytes);
  if (taken > 0 && in_.is_writer_to_be_rung()) ring_other_end();
  if (taken == 0 && is_over && !bytes.empty()) throw_link_error(name_, lost());
  return taken;
}

bool SharedMemoryConnection::prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) {
  answer_rings();
  if (is_hung_up_ || !in_.may_sleep_reading() || (wants_room && !out_.may_sleep_writing())) return false;
  polled.push_back({socket_.get(), POLLIN, 0});
  return true;
}

int SharedMemoryConnection::receive_descriptor() {
  answer_rings();
  if (descriptors_.empty()) return -1;
  const int descriptor = descriptors_.front().release();
  descriptors_.pop_front();
  return descriptor;
}

/// Where the socket has no room for a byte, it has bytes enough to wake the other end.
void SharedMemoryConnection::ring_other_end() {
  const char byte = 0;
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void SharedMemoryConnection::answer_rings() {
  ReceivedByte received;
  while ((received = receive_byte(socket_.get())).result > 0)
    if (received.descriptor) descriptors_.push_back(std::move(received.descriptor));
  if (received.result == 0 || (errno != EAGAIN && errno != EINTR)) is_hung_up_ = true;
}

}  // namespace

FileDescriptor create_connection_memory(const std::string& where) {
  FileDescriptor memory(memfd_create("tenax connection", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Every page now: a host without memory is an error here and not a SIGBUS later.
  const int code = memory ? posix_fallocate(memory.get(), 0, static_cast<off_t>(kBytes)) : errno;
  if (code != 0) throw_link_error(where, "no shared memory for a connection", code);
  if (ftruncate(memory.get(), static_cast<off_t>(kWhole)) != 0)
    throw_link_error(where, "cannot size shared memory", errno);
  if (fcntl(memory.get(), F_ADD_SEALS, kSharedMemorySeals) != 0)
    throw_link_error(where, "cannot seal shared memory", errno);
  return memory;
}

std::unique_ptr<Connection> create_shared_memory_connection(FileDescriptor memory, FileDescriptor socket,
                                                            std::string address, ConnectionEnd end) {
  if (!memory || !is_as_created(memory))
    throw_link_error(plain_address(address), "no proper memory came along");
  return std::make_unique<SharedMemoryConnection>(std::move(memory), std::move(socket), std::move(address),
                                                  end);
}

}  // namespace tenax::comm
