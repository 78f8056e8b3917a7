// libibverbs' functions for RDMA devices that are not there, as far as comm/verbs uses them, and as unfriendly as the
// real ones:
//
// - Nothing has happened when a call returns. A thread, the network, carries messages from queue pair to queue pair; it
//   reads what is to be sent as late as it may, when it arrives.
// - What was on its way when its sender's queue pair broke or was destroyed still arrives, late: in memory that is
//   registered, through a queue pair that takes it.
// - Messages are lost and repeated as the queue pair's attributes say, then RETRY_EXC_ERR. A retry_cnt of 7, which never
//   ends, is refused; so is a message without a receive.
// - Misuse is a failure of the test: an overrun completion queue, events not acknowledged.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenax::comm::fake_verbs {

struct FakeGid {
  std::array<std::uint8_t, 16> bytes{};
  ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
};

/// What ibv_query_port and ibv_query_gid_ex tell of a port. The default is an active RoCE port with a link-local GID and
/// one of 127.0.0.1.
struct FakePort {
  ibv_port_state state = IBV_PORT_ACTIVE;
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint16_t lid = 0;
  std::uint8_t flags = 0;
  std::vector<std::uint16_t> pkeys = {0xffff};
  std::uint8_t active_speed = 32, active_width = 2;  ///< 25 Gb/s a lane, four lanes
  std::vector<FakeGid> gids = {
      {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, IBV_GID_TYPE_ROCE_V2},
      {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, IBV_GID_TYPE_ROCE_V2}};
};

/// How messages get from one device to another. Acknowledgements go the other way.
struct Path {
  double delay_s = 0;
  bool is_lossy = false;                ///< everything is lost
  bool loses_acknowledgements = false;  ///< and nothing else
  std::size_t longest = SIZE_MAX;       ///< longer messages are lost: they take packets that are too large
};

/// Devices while it lives; one at a time. All its functions: any thread.
class Host {
 public:
  Host();
  /// Nothing that was made on its devices is left: else the test fails.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void add_device(const std::string& name, std::vector<FakePort> ports = {FakePort{}});
  /// Out of the list at once. What is open on it fails: queue pairs break, calls return ENODEV, and the event
  /// DEVICE_FATAL comes.
  void remove_device(const std::string& name);

  /// What a port is from now on. No event comes. Where it is not active, messages of its queue pairs fail with
  /// LOC_QP_OP_ERR.
  void set_port(const std::string& device, int number, FakePort port);
  FakePort port(const std::string& device, int number);
  /// An asynchronous event of a port (PORT_ERR, PORT_ACTIVE, GID_CHANGE, …) or of the device, in all processes' (here:
  /// all) contexts.
  void raise(const std::string& device, ibv_event_type event, int port = 1);

  void set_path(const std::string& from, const std::string& to, Path path);
  /// The next message that a queue pair of the device sends fails so, and reaches nobody.
  void fail_next(const std::string& device, ibv_wc_status status);
  /// Registering more than that fails with ENOMEM, as beyond "ulimit -l".
  void allow_locked_memory(std::size_t bytes);
  /// Without them making one fails with ENOMEM: their queues are locked memory too.
  void allow_queue_pairs(bool allowed);
  /// Whether kernel and adapter register the memory of other devices; else EOPNOTSUPP, as rxe of Linux 6.1 says.
  void allow_dma_bufs(bool allowed);
  /// Without them no queue pair can be connected: no route leads to the other port's address.
  void allow_routes(bool allowed);

  /// While they are held, whoever destroys one waits (at most 20 s), as where what it has sent is still on its way.
  void hold_queue_pairs(bool held);

  /// Contexts, protection domains, memory regions, channels, completion queues and queue pairs.
  int objects();
  /// Memory regions and queue pairs that were made so far.
  std::uint32_t made();
  /// Bytes of messages that were written into that memory so far.
  std::size_t written(std::span<const std::byte> memory);
  /// Bytes of messages that were read where a dmabuf led.
  std::size_t read_by_descriptor();
  /// Messages that are still under way though their queue pairs broke.
  int ghosts();
};

}  // namespace tenax::comm::fake_verbs
