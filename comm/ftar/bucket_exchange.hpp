// BucketExchange: how far one bucket has come on this rank.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/ftar/exchange_plan.hpp"
#include "comm/ftar/ftar_message.hpp"
#include "comm/ftar/outcome.hpp"
#include "kernels/tensor.hpp"

namespace tenax::comm {

/// What replicas name a bucket by: they may start them in different orders.
struct BucketName {
  std::int64_t step = 0;
  int bucket = 0;
  auto operator<=>(const BucketName&) const = default;
};

/// A chunk of a bucket.
struct ChunkName {
  std::int64_t turn = 0;
  int column = 0;
  bool operator==(const ChunkName&) const = default;
};

inline FtarMessage message_about(FtarMessage::Kind kind, const BucketName& bucket,
                                 const ChunkName& chunk = {}) {
  return {
      .kind = kind, .bucket = bucket.bucket, .step = bucket.step, .turn = chunk.turn, .column = chunk.column};
}

/// Each column passes its turns in order, whatever the others do. Thread rule: one thread.
class BucketExchange {
 public:
  struct Tensors {
    kernels::Tensor in, out;  ///< of equal size; both without data on the emulated device
  };
  BucketExchange(BucketName name, Tensors tensors, std::unique_ptr<const ExchangePlan> plan,
                 std::shared_ptr<Outcome> outcome);

  const BucketName& name() const { return name_; }
  const ExchangePlan& plan() const { return *plan_; }
  Outcome& outcome() { return *outcome_; }
  bool has_data() const { return static_cast<bool>(tensors_.in); }
  kernels::DType dtype() const { return tensors_.in.dtype; }
  std::int64_t elements() const { return tensors_.in.size(); }

  /// The rank after has begun the bucket: it has a place for every chunk.
  void grant() { is_granted_ = true; }
  bool is_granted() const { return is_granted_; }
  /// The rank after has taken all chunks.
  void acknowledge() { is_acknowledged_ = true; }
  /// When the last chunk was given to the connection.
  void left(double time_s) { left_s_ = time_s; }
  double left_s() const { return left_s_; }
  bool has_sent_all() const { return open_sends_ == 0; }
  bool is_acknowledged() const { return is_acknowledged_; }
  /// The next chunk to be sent, of those that can be; nothing: all wait for what comes in, or for
  /// the grant.
  std::optional<ChunkName> next_to_send() const;
  void count_sent(const ChunkName& chunk);
  /// The only chunk of the column that may come next; nothing after the last.
  std::optional<ChunkName> next_to_receive(int column) const;
  void count_received(const ChunkName& chunk);
  /// So many turns of the column have been received, or had no elements.
  std::int64_t received(int column) const { return at(column).received; }
  /// The rank after has so many turns of the column, and lacks those that were sent later: they are next to
  /// be sent. False: it cannot have so many, or there is no such column.
  bool send_again(int column, std::int64_t received);

  bool has_received_all() const { return open_receives_ == 0; }
  bool is_done() const { return has_received_all() && is_acknowledged_; }

  /// What a turn sends, where it lies; where it adds its own values; where it writes.
  kernels::Tensor source(const ChunkName& chunk) const;
  kernels::Tensor own(const ChunkName& chunk) const;
  kernels::Tensor result(const ChunkName& chunk) const;

 private:
  struct Column {
    std::int64_t sent = 0, received = 0;  ///< turns, those without elements included
  };
  static kernels::Tensor part(const kernels::Tensor& tensor, const ExchangePlan::Place& place) {
    return tensor.part(place.begin, {place.elements});
  }
  void pass_empty_sends(int column);
  void pass_empty_receives(int column);
  Column& at(int column) { return columns_[static_cast<std::size_t>(column)]; }
  const Column& at(int column) const { return columns_[static_cast<std::size_t>(column)]; }

  BucketName name_;
  Tensors tensors_;
  std::unique_ptr<const ExchangePlan> plan_;
  std::shared_ptr<Outcome> outcome_;
  std::vector<Column> columns_;
  bool is_granted_ = false, is_acknowledged_ = false;
  double left_s_ = 0;
  int open_sends_, open_receives_;  // columns that have not passed their last turn
};

}  // namespace tenax::comm
