// CarryingRank: one of two ranks, threads of a process, that exchange messages over soft RDMA and check every byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/delegates/watched_transport.hpp"
#include "comm/verbs.hpp"
#include "tests/verbs/message_numbers.hpp"
#include "tests/verbs/withholding_transport.hpp"

namespace tenax::comm {

inline constexpr std::size_t kMessageBytes = std::size_t{128} << 10;

/// A line after the seconds of the system's uptime. Thread rule: any thread.
void say(const std::string& words);

struct CarrySettings {
  double silence_s = 1;
  int links = 1;                ///< of the guest; rank 0 has the devices rxe_a0 …, rank 1 rxe_b0 …
  bool has_other_ways = false;  ///< TCP, though not shared memory
  int delegates = 2;            ///< connections each way
};

/// A rank's end of the link. Its thread calls carry(), another one the others.
class CarryingRank {
 public:
  /// Tells each other way that its messages take.
  CarryingRank(std::size_t number, const CarrySettings& settings, MessageNumbers& numbers);
  ~CarryingRank();

  Peer as_peer() const;
  void join(const Peer& peer);
  /// Exchanges messages while there are numbers. Throws where a message has other bytes, or does not come.
  void carry();
  /// Waits for the other rank to do so too.
  void leave() { link_.reset(); }

  /// See WithholdingTransport.
  void withhold() { withholding_->withhold(); }
  bool has_withheld() const { return withholding_->has_withheld(); }
  std::uint64_t repeated() const { return withholding_->repeated(); }

  double longest_gap_s() { return gaps_.take(); }
  int connections() const;       ///< that it has made
  int most_connections() const;  ///< the same of the purpose for which it has made most
  std::uint64_t resent() const { return resent_; }

 private:
  class CountingTransport;
  struct Flight {
    std::int64_t number = 0;
    std::vector<std::byte> sent, received;
    TransferPtr send, receive;
  };

  void take(const Reroute& reroute);
  bool begin_next();
  void finish_oldest();

  const std::size_t number_;
  const int delegates_;
  MessageNumbers& numbers_;
  GapMeter gaps_;
  std::atomic<std::uint64_t> resent_{0};
  std::unique_ptr<kernels::Device> device_;
  HostStream stream_;
  std::unique_ptr<VerbsRank> verbs_;
  std::unique_ptr<CountingTransport> transport_;
  WithholdingTransport* withholding_ = nullptr;  // in transport_
  std::deque<Flight> flights_;                   // before the link, which lets go of their memory first
  std::unique_ptr<DelegatedLink> link_;
};

}  // namespace tenax::comm
