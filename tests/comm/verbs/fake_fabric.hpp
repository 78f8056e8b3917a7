// Fabric: what the fake verbs' devices, queue pairs and network are made of. One lock, one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/comm/verbs/fake_verbs.hpp"

namespace tenax::comm::fake_verbs {

using Clock = std::chrono::steady_clock;

/// Its address is libibverbs' ibv_device.
struct FakeDevice {
  FakeDevice();
  ~FakeDevice() { lose_node(); }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  /// Its file of the kernel, a temporary one, is gone.
  void lose_node() { std::remove(base.dev_path); }

  ibv_device base{};
  std::vector<FakePort> ports;
  bool is_gone = false;
  std::deque<ibv_wc_status> faults;  // of the next messages
};

struct FakeContext {
  ibv_context base{};
  std::shared_ptr<FakeDevice> device;
  std::deque<ibv_async_event> events;
};

struct FakeChannel {
  ibv_comp_channel base{};
  std::deque<ibv_cq*> events;
};

struct FakeCq {
  ibv_cq base{};
  std::deque<ibv_wc> completions;
  bool is_armed = false;
  int unacknowledged = 0;
};

struct FakeMr {
  ibv_mr base{};
  int access = 0;
  std::byte* mapped = nullptr;  // of a dmabuf: what its addresses mean
};

/// A message, as posted.
struct Operation {
  ibv_send_wr request{};
  std::vector<ibv_sge> parts;
  std::vector<std::byte> bytes;  // of inline data, and of ghosts
  Clock::time_point due;
  bool has_bytes = false, is_delivered = false;
};

struct Receive {
  std::uint64_t id = 0;
  std::vector<ibv_sge> parts;
};

struct FakeQp {
  ibv_qp base{};
  ibv_qp_cap capacity{};
  ibv_qp_attr attributes{};
  std::deque<Operation> sends;
  std::deque<Receive> receives;
  Clock::time_point waiting_since;  // for the first of `sends`
  FakeContext& context() const { return *reinterpret_cast<FakeContext*>(base.context); }
};

/// Left behind by a queue pair that broke.
struct Ghost {
  Operation operation;
  std::uint32_t from = 0, to = 0;
};

/// Members are used under `mutex`.
class Fabric {
 public:
  static Fabric& instance();

  void start();
  void stop();
  void changed() { changed_.notify_all(); }

  void complete(ibv_cq* queue, const ibv_wc& completion);
  /// Everything of it is flushed.
  void break_queue_pair(FakeQp& queue_pair);
  void tell(FakeContext& context, ibv_event_type event, int port);
  FakeDevice* find_device(const std::string& name);

  std::mutex mutex;
  std::vector<std::shared_ptr<FakeDevice>> devices;
  std::map<std::uint32_t, FakeQp*> queue_pairs;
  std::map<std::uint32_t, FakeMr*> regions;  // by key: local and remote ones are equal
  std::vector<FakeContext*> contexts;
  std::map<std::pair<std::string, std::string>, Path> paths;
  std::vector<Ghost> ghosts;
  std::vector<std::pair<std::uint64_t, std::size_t>> writes;  // where, and how many bytes
  std::size_t read_by_descriptor = 0;
  std::size_t locked_bytes = 0, most_locked_bytes = SIZE_MAX;
  bool makes_queue_pairs = true, has_routes = true, takes_dma_bufs = true;
  bool holds_queue_pairs = false;  // their destruction waits
  std::condition_variable let_go;  // holds_queue_pairs has changed
  std::uint32_t last_number = 16;
  int objects = 0;

 private:
  void run();
  Clock::time_point advance(FakeQp& queue_pair);
  Clock::time_point deliver_all(FakeQp& queue_pair, FakeQp* other);
  Clock::time_point acknowledge(FakeQp& queue_pair, FakeQp* other);
  ibv_wc_status next_fault(const FakeQp& queue_pair);
  void finish_first(FakeQp& queue_pair);
  Clock::time_point send_ghosts();
  Clock::time_point wait_for_repeats(FakeQp& queue_pair);
  void fail(FakeQp& queue_pair, ibv_wc_status status);
  FakeQp* other_end(std::uint32_t from, std::uint32_t to);
  Path path(const FakeQp& from, const FakeQp& to);
  ibv_wc_status deliver(Operation& operation, FakeQp* from, FakeQp& to);
  bool gather(Operation& operation);
  ibv_wc_status take(const Operation& operation, FakeQp& to);
  ibv_wc_status write(const Operation& operation, const FakeQp& to);
  bool is_within(const ibv_sge& part, int access, const ibv_pd* domain);
  std::byte* memory_of(const ibv_sge& part);

  std::condition_variable changed_;
  std::thread thread_;
  bool is_over_ = false;
};

inline Fabric& fabric() { return Fabric::instance(); }

}  // namespace tenax::comm::fake_verbs
