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

#include "comm/transport/connection_request.hpp"
#include "comm/transport/ring.hpp"
#include "comm/transport/shared_memory_area.hpp"

namespace tenax::comm {
namespace {

// The connecting end writes into the first ring, the accepting end into the second.
constexpr std::size_t kStride = (Ring::kMemory + 4095) / 4096 * 4096;
constexpr std::size_t kBytes = 2 * kStride;
// Behind the rings, without pages until somebody asks for them.
constexpr std::size_t kWhole = kBytes + SharedMemoryArea::kBytes;
// Nobody can take pages away from under the other process.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

std::shared_ptr<std::byte> map_rings(const FileDescriptor& memory, const std::string& where) {
  std::shared_ptr<std::byte> rings = map_shared(memory, 0, kBytes);
  if (!rings) throw_link_error(where, "cannot map shared memory", errno);
  return rings;
}

bool is_as_created(const FileDescriptor& memory) {
  struct stat status {};
  return fstat(memory.get(), &status) == 0 && status.st_size == static_cast<off_t>(kWhole) &&
         (fcntl(memory.get(), F_GET_SEALS) & kSeals) == kSeals;
}

class SharedMemoryConnection final : public Connection {
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
    const std::span<const std::byte> head(reinterpret_cast<const std::byte*>(&header), sizeof header);
    for (const std::span<const std::byte> part : {head, payload}) {
      const Ring::Outcome outcome = out_.write(part, deadline, alive_);
      if (outcome == Ring::Outcome::over) throw_link_error(name_, lost());
      if (outcome == Ring::Outcome::deadline)
        throw_link_error(name_, "the other end took nothing more before the deadline");
    }
  }

  std::optional<MessageHeader> receive(kernels::Deadline deadline) override {
    MessageHeader header;
    const Ring::Outcome outcome = in_.wait_for(sizeof header, deadline, alive_);
    if (outcome == Ring::Outcome::over) throw_link_error(name_, lost());
    if (outcome == Ring::Outcome::deadline) return std::nullopt;
    in_.read({reinterpret_cast<std::byte*>(&header), sizeof header}, deadline,
             alive_);  // is there: does not wait
    return header;
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
  const std::string& address() const override { return address_; }
  std::string describe() const override { return name_; }

 private:
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
};

}  // namespace

FileDescriptor create_connection_memory(const std::string& where) {
  FileDescriptor memory(memfd_create("tenax connection", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Every page now: a host without memory is an error here and not a SIGBUS later.
  const int code = memory ? posix_fallocate(memory.get(), 0, static_cast<off_t>(kBytes)) : errno;
  if (code != 0) throw_link_error(where, "no shared memory for a connection", code);
  if (ftruncate(memory.get(), static_cast<off_t>(kWhole)) != 0)
    throw_link_error(where, "cannot size shared memory", errno);
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0)
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
