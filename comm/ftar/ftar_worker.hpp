// FtarWorker: the thread that connects a rank with its neighbours and moves its buckets.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "comm/ftar/ftar_control.hpp"
#include "comm/ftar/ftar_options.hpp"
#include "comm/ftar/ring_exchange.hpp"

namespace tenax::comm {

/// Runs from construction until the group is broken, or ends.
class FtarWorker {
 public:
  /// `transport` must outlive it.
  FtarWorker(FtarRing ring, Transport& transport, FtarOptions options,
             std::unique_ptr<ChunkArithmetic> arithmetic, std::shared_ptr<FtarControl> control);
  /// Aborts what is under way.
  ~FtarWorker();
  FtarWorker(const FtarWorker&) = delete;
  FtarWorker& operator=(const FtarWorker&) = delete;

 private:
  void run();
  void exchange();
  void take_buckets();
  void keep_alive();
  void throw_if_over() const;
  void throw_if_nothing_moves(double moved_s) const;
  void sleep();
  void fail(const FtarFailure& failure);
  double reach_s() const;
  double patience_s() const;
  RingExchange::Settings settings() const;

  const FtarRing ring_;
  const FtarOptions options_;
  const std::unique_ptr<ChunkArithmetic> arithmetic_;
  const std::shared_ptr<FtarControl> control_;
  std::atomic<bool> is_connecting_over_{false};
  const RingConnector connector_;
  std::optional<RingExchange> exchange_;  // its destructor waits for attempts to connect
  double looked_s_ = 0, told_s_ = 0;      // at the neighbours; when they were told that this rank lives
  std::thread thread_;                    // after what it uses
};

}  // namespace tenax::comm
