// RingNeighbour: the rank before or after in the ring, and the streams to it.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/ftar/chunk_receiver.hpp"
#include "comm/ftar/ftar_error.hpp"
#include "comm/ftar/progress_report.hpp"

namespace tenax::comm {

/// A stream whose connection has lost its way is replaced, while the others go on. So is one that the rank
/// before has made and ended unused: it may be making another. The neighbour is lost when a connection ends
/// otherwise, or cannot be replaced. Thread rule: one thread.
class RingNeighbour {
 public:
  using Connections = std::vector<std::unique_ptr<Connection>>;
  /// Begins to make another connection of that number (RingConnector); within replace_s, or `longest_s`.
  using Replace = std::function<std::future<std::unique_ptr<Connection>>(int number, double longest_s)>;
  enum class Side { before, after };

  struct Stream {
    std::unique_ptr<FtarStream> messages;   ///< null while it is being replaced
    bool has_ended = false;                 ///< the neighbour has said that nothing more comes
    std::optional<ChunkReceiver> receiver;  ///< of the rank before
    std::optional<ProgressReport> report;   ///< of the rank after, until it is complete
    std::future<std::unique_ptr<Connection>> replacement = {};
    double heard_s = kernels::steady_now_s();  ///< before it was replaced

    /// Nothing has come of its connection.
    bool is_unproven() const { return !(messages && messages->has_heard()); }
  };

  /// `name`: for errors. Throws Error(link).
  RingNeighbour(Side side, int index, std::string name, Connections connections, Replace replace);

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
  /// Calls `begin`(number) for each stream that has got a new connection.
  template <class Begin>
  bool take_replacements(Begin begin);
  /// All streams stand, and may carry chunks.
  bool is_whole() const;
  /// On the first stream; while that is being replaced nothing, as the report says it.
  void post(const FtarMessage& message);
  std::size_t queued() const;

  /// What the neighbour says last. On each of its streams: what it sent before on another one may
  /// come later. `at_fault`: because of whom.
  void end(int stream, int at_fault, const std::string& name_at_fault);
  /// Why nothing more comes from it.
  const std::optional<FtarFailure>& loss() const { return loss_; }
  /// As the last message of all streams, which are shut down.
  void end_with(const FtarMessage& message);

  void tell_alive();
  bool is_silent_since(double time_s) const;
  void forgive(double pause_s);
  bool prepare_to_sleep(std::vector<pollfd>& polled);
  /// When the next message may leave, where that is later than now; 0: none is held back.
  double next_departure_s() const;

 private:
  bool stands(const Stream& stream) const { return stream.messages && !stream.has_ended; }
  void take_error(int number, const kernels::Error& error);
  void lose(const std::string& why);

  const Side side_;
  const int index_;
  const std::string name_;
  const Replace replace_;
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
bool RingNeighbour::take_replacements(Begin begin) {
  bool has_moved = false;
  for (int i = 0; i < streams() && !loss_; ++i) {
    Stream& replaced = stream(i);
    const bool is_ready = replaced.replacement.valid() &&
                          replaced.replacement.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!is_ready) continue;
    has_moved = true;
    try {
      replaced.messages = std::make_unique<FtarStream>(replaced.replacement.get());
      begin(i);
    } catch (const FtarError& error) {
      lose(error.failure().sentence);
    } catch (const kernels::Error& error) {
      take_error(i, error);
    }
  }
  return has_moved;
}

}  // namespace tenax::comm
