// QueuePair: one reliable connected queue pair with a completion queue and a completion channel of
// its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "comm/verbs/break_reason.hpp"
#include "comm/verbs/port_address.hpp"

struct ibv_comp_channel;
struct ibv_cq;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_send_wr;
struct ibv_sge;

namespace tenax::comm::verbs {

/// How its messages travel.
struct PathSettings {
  double silence_s = 1;   ///< what is not acknowledged for so long has failed
  int service_level = 0;  ///< InfiniBand 0 … 15, RoCE's priority 0 … 7
  int traffic_class = 0;  ///< RoCE: DSCP · 4
};

/// A queue pair, as its other end addresses it.
struct QueuePairAddress {
  std::uint32_t number = 0;
  std::uint32_t first_packet =
      0;  ///< 24 bits, random: packets of earlier connections are no part of this one
};

struct Completion {
  bool is_receive = false;
  std::uint32_t immediate = 0;  ///< of a receive
  std::uint32_t bytes = 0;      ///< of a receive: written before it
};

/// Memory of the other end.
struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

/// Thread rule: one thread; break_off() from any. Once broken it is never used again.
class QueuePair {
 public:
  struct Depth {
    int sends = 0, receives = 0;
  };

  /// Ready to receive `depth.receives` messages. The other end may write into memory that is
  /// registered for it, and neither read nor do atomics. Throws Error(link).
  QueuePair(const Port& port, Depth depth);
  /// Nothing is read, written or completed any more.
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  QueuePairAddress address() const;
  const std::shared_ptr<Device>& device() const { return device_; }
  /// Throws Error(link) when the device takes no such path.
  void connect(const PortAddress& port, QueuePairAddress other, const PathSettings& settings);

  /// Writes the parts, one after the other, and `immediate`, which takes one of the other end's
  /// receives. Short ones are read before this returns, others until their completion. At most
  /// depth.sends are under way. `is_in_host`: false where a part may lie in a device's memory, which the
  /// processor cannot read.
  void post_write(std::span<const ibv_sge> parts, RemoteMemory to, std::uint32_t immediate,
                  bool is_in_host = true);
  /// `immediate` alone.
  void post_immediate(std::uint32_t immediate);
  /// Room for one more message.
  void post_receive();

  /// The next message that has been acknowledged, or has come, in its order. Nothing: none yet, or
  /// there will be no more (fault()).
  std::optional<Completion> next();
  int sends_under_way() const { return sends_under_way_; }
  /// Why it is broken, once next() has seen it. What was only flushed has no reason of its own.
  const std::optional<CompletionFault>& fault() const { return fault_; }
  /// What its port says for itself: device_lost, port_down, or nothing (it is active).
  std::optional<BreakReason> failure_of_port() const;

  /// For poll(): readable once something has completed after arm().
  int channel() const;
  /// Look at next() once more after this: what had completed before is not told.
  void arm();
  /// The same, but of failures alone.
  void arm_for_failures();
  void consume_events();

  /// Nothing that was posted completes but flushed.
  void break_off() noexcept;
  /// After break_off(): waits until no message is under way: memory they were sent from may change.
  /// It does not take long; where a device does not answer, the queue pair is destroyed instead.
  void drain() noexcept;
  /// The other end writes nothing here any more, not even what it had sent before. fault() is set.
  void end() noexcept;

 private:
  void create(const Port& port, Depth depth);
  void initialize(const Port& port);
  void arm(int failures_alone);
  void modify(ibv_qp_attr& attributes, int mask, const char* step);
  void post(ibv_send_wr& request);
  void destroy() noexcept;
  [[noreturn]] void refuse(const std::string& what, int error_number) const;

  std::shared_ptr<Device> device_;
  const Port port_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  std::mutex mutex_;  // held while the queue pair is broken or destroyed
  ibv_qp* pair_ = nullptr;
  std::uint32_t first_packet_ = 0, number_ = 0;
  std::uint32_t most_inline_ = 0;
  int sends_under_way_ = 0;
  std::optional<CompletionFault> fault_;
};

}  // namespace tenax::comm::verbs
