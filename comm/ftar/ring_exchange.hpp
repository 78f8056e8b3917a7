// RingExchange: all buckets of one rank under way round the ring, and the messages that move them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/ftar/chunk_sender.hpp"
#include "comm/ftar/link_transfers.hpp"
#include "comm/ftar/ring_connector.hpp"
#include "comm/ftar/ring_neighbour.hpp"

namespace tenax::comm {

/// Nothing blocks, and nothing moves but in advance(). Thread rule: one thread.
///
/// At most C chunks, over all buckets, wait for a connection to the rank after to take them.
class RingExchange {
 public:
  struct Settings {
    RingShape shape;
    WireType wire = WireType::fp32;
    double link_gbps = 0;            ///< emulated device: bandwidth to the rank after; 0: no limit
    std::vector<std::string> names;  ///< of the replicas, by index
    int connections = 1;             ///< with each neighbour
    double connect_s = 60;           ///< until the rank before has made them
    double replace_s = 60;           ///< until the rank after is reached, at first or again
    std::uint64_t checksum = 0;      ///< of what must be equal on all replicas
  };
  /// References must outlive it. `connector` makes the connections, and replaces those that lose their way, each
  /// until settings.replace_s have passed. Its attempts must be over before the exchange is destroyed, which waits.
  RingExchange(Settings settings, const RingConnector& connector, OwnRegions regions,
               ChunkArithmetic& arithmetic);

  /// Begins to connect with the neighbours, before anything else.
  void begin() {
    before_.begin();
    after_.begin();
  }

  /// Its outcome is completed when all sums are in `out`, and nobody reads this rank's memory any
  /// more. Throws FtarError where neighbours disagree about the bucket, which is then still there.
  void add(std::unique_ptr<BucketExchange> bucket);
  /// Moves what can be moved: at most one chunk of each connection, so it returns soon. True if
  /// anything moved. Throws FtarError where a bucket needs a neighbour that is lost; the buckets are
  /// then still there.
  bool advance();
  bool is_idle() const { return buckets_.empty(); }
  /// A connection is being made: nothing tells a thread that sleeps when it is there.
  bool is_connecting() const { return !before_.is_whole() || !after_.is_whole(); }
  /// How many outcomes are over since it was asked last.
  int take_completed() { return std::exchange(completed_, 0); }

  /// What buckets took since it was asked last.
  LinkTransfers take_transfers() { return std::exchange(transfers_, {}); }

  /// What to poll before the thread sleeps. False: there is something to do now.
  bool prepare_to_sleep(std::vector<pollfd>& polled);
  /// When the next message may leave, where that is later than now; 0: none is held back.
  double next_departure_s() const;
  /// Where all waits: on which replica (its index), for errors.
  int awaited_replica() const;

  /// Says to all neighbours that this rank lives.
  void tell_alive();
  /// The index of a neighbour that a bucket needs, and of which nothing has come for so long.
  std::optional<int> silent_replica(double dead_s) const;
  /// This rank did not listen for so long: its neighbours' silence does not count.
  void forgive(double pause_s);
  /// The rank after has been silent for so long: it may be the way, where there is another one.
  void seek_other_ways(double silence_s);

  /// Tells the neighbours, ends the connections, and only then lets the buckets fail: the first of
  /// them with `failure`, those behind it as cancelled.
  void fail(const FtarFailure& failure);

 private:
  bool needs(const RingNeighbour& neighbour) const;
  void throw_if_lost() const;
  RingNeighbour::Maker maker_before() const;
  RingNeighbour::Maker maker_after() const;
  kernels::Deadline within(double longest_s) const;
  void begin_before(int stream);
  void begin_after(int stream);
  bool serve_before(int stream);
  bool serve_after(int stream);
  void take_chunk(int stream, const FtarMessage& message);
  void finish_chunk(BucketExchange& bucket, const ChunkName& chunk);
  void take_grant(const FtarMessage& message);
  void take_acknowledgement(const FtarMessage& message);
  void take_report(int stream, const FtarMessage& message);
  void end(RingNeighbour& neighbour, int stream, const FtarMessage& message);
  void match(BucketExchange& bucket, const FtarMessage& grant) const;
  bool send_chunks();
  void send(BucketExchange& bucket, const ChunkName& chunk);
  void complete_if_done(BucketExchange& bucket);
  BucketExchange* find(const BucketName& name);
  const std::string& name_of(int index) const { return settings_.names[static_cast<std::size_t>(index)]; }

  Settings settings_;
  const RingConnector& connector_;
  ChunkArithmetic& arithmetic_;
  ChunkSender sender_;
  RingNeighbour before_, after_;
  std::optional<NeighbourRegions> regions_before_;
  std::vector<std::unique_ptr<BucketExchange>> buckets_;  // in the order of their start
  std::map<BucketName, FtarMessage> early_grants_;        // of buckets that have not begun here
  int completed_ = 0;                                     // outcomes
  LinkTransfers transfers_;
};

}  // namespace tenax::comm
