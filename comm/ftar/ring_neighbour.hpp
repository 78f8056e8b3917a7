// RingNeighbour: the rank before or after in the ring, and the streams to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/ftar/chunk_receiver.hpp"
#include "comm/ftar/ftar_error.hpp"
#include "comm/ftar/progress_report.hpp"
#include "comm/ftar/ring_connector.hpp"

namespace tenax::comm {

/// Streams get their connections one after the other, and each speaks as soon as it has one: neighbours enter an
/// epoch at different times. A stream whose connection has lost its way is replaced, while the others go on. So is
/// one that the rank before has made and ended unused: it may be making another. The neighbour is lost when a
/// connection ends otherwise, or cannot be made. Thread rule: one thread.
class RingNeighbour {
 public:
  using Attempt = RingConnector::Attempt;
  /// Begins to make a connection of that number.
  struct Maker {
    std::function<Attempt(int number)> first;
    std::function<Attempt(int number, double longest_s)> another;  ///< within replace_s, or `longest_s`
  };
  enum class Side { before, after };

  struct Stream {
    std::unique_ptr<FtarStream> messages;   ///< null while its connection is being made
    bool has_ended = false;                 ///< the neighbour has said that nothing more comes
    std::optional<ChunkReceiver> receiver;  ///< of the rank before
    std::optional<ProgressReport> report;   ///< of the rank after, until it is complete
    Attempt attempt = {};
    std::unique_ptr<FtarStream> retired =
        {};  ///< in whose place messages are, until something has come of those
    /// When the neighbour gave the last sign of life before anything came of this connection; nothing: none yet.
    std::optional<double> heard_s = {};

    /// Nothing has come of its connection.
    bool is_unproven() const { return !(messages && messages->has_heard()); }
    /// Takes the connection away. What it has under way is forgotten: the report tells what of it has come.
    std::unique_ptr<FtarStream> retire();
  };

  /// `name`: for errors.
  RingNeighbour(Side side, int index, std::string name, int streams, Maker maker);
  /// Begins to connect, before anything else is asked of it.
  void begin();

  int index() const { return index_; }
  const std::string& name() const { return name_; }
  int streams() const { return static_cast<int>(streams_.size()); }
  Stream& stream(int number) { return streams_[static_cast<std::size_t>(number)]; }
  StreamPlace place(int number) const { return {number, streams()}; }

  /// Calls `work`(number), which says whether anything moved, for each stream that stands. Its errors
  /// are this neighbour's.
  template <class Work>
  bool for_each(Work work);
  /// Writes what there is room for.
  bool flush() {
    return for_each([this](int i) { return stream(i).messages->flush(); });
  }
  /// Calls `begin`(number) for each stream that has got a connection, its first or another.
  template <class Begin>
  bool take_connections(Begin begin);
  /// All streams stand, and may carry chunks.
  bool is_whole() const;
  /// On the first stream; while that has no connection nothing, as the report says it.
  void post(const FtarMessage& message);
  std::size_t queued() const;

  /// What the neighbour says last. On each of its streams: what it sent before on another one may
  /// come later. `at_fault`: because of whom; kNobody, without a name: it does not know.
  void end(int stream, int at_fault, const std::string& name_at_fault);
  /// Why nothing more comes from it.
  const std::optional<FtarFailure>& loss() const { return loss_; }
  /// As the last message of all streams, which are shut down.
  void end_with(const FtarMessage& message);

  void tell_alive();
  /// Nothing has come since, though it is there: something had come before, or the rank before has made a connection,
  /// over which it speaks at once. The rank after may not have entered the epoch: its transport answers before it does.
  bool is_silent_since(double time_s) const;
  void forgive(double pause_s);
  /// Begins to make another connection in the place of each that has been silent since `time_s`, where it
  /// `has_other_way`. The silent one stays until the other one is there: the neighbour may be back before.
  void seek_other_ways(double time_s, const std::function<bool(const Connection&)>& has_other_way);
  bool prepare_to_sleep(std::vector<pollfd>& polled);
  /// When the next message may leave, where that is later than now; 0: none is held back.
  double next_departure_s() const;

 private:
  bool stands(const Stream& stream) const { return stream.messages && !stream.has_ended; }
  bool has_connection(int number) const;
  void take_connection(int number);
  void take_error(int number, const kernels::Error& error);
  void lose(const std::string& why);

  const Side side_;
  const int index_;
  const std::string name_;
  const Maker maker_;
  std::vector<Stream> streams_;
  std::optional<FtarFailure> loss_;
};

template <class Work>
bool RingNeighbour::for_each(Work work) {
  bool has_moved = false;
  for (int i = 0; i < streams() && !loss_; ++i) try {
      if (stands(stream(i))) has_moved |= work(i);
    } catch (const FtarError&) {
      throw;
    } catch (const kernels::Error& error) {
      take_error(i, error);
      has_moved = true;
    }
  return has_moved;
}

template <class Begin>
bool RingNeighbour::take_connections(Begin begin) {
  bool has_moved = false;
  for (int i = 0; i < streams() && !loss_; ++i) {
    if (!has_connection(i)) continue;
    has_moved = true;
    try {
      take_connection(i);
      begin(i);
    } catch (const FtarError& error) {
      if (!stream(i).messages) loss_ = error.failure();
    } catch (const kernels::Error& error) {
      take_error(i, error);
    }
  }
  return has_moved;
}

}  // namespace tenax::comm
