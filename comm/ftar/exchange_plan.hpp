// ExchangePlan: which elements of a bucket a rank of a ring sends to the rank after it, and when.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenax::comm {

/// Of a ring of ranks, of which each sends to the one after it. Equal on all of them but for
/// `index`.
struct RingShape {
  int ranks = 1, index = 0;
  std::size_t chunk_bytes = 0;  ///< S, at most so many in a chunk
  int chunks_in_flight = 1;     ///< C

  int before() const { return (index + ranks - 1) % ranks; }
  int after() const { return (index + 1) % ranks; }
};

/// A bucket's elements travel in columns; each column passes its turns in order, whatever the others
/// do. What a rank receives in a turn is what the rank before sends in it.
class ExchangePlan {
 public:
  /// Elements [begin, begin + elements) of the bucket. A chunk without elements is not sent.
  struct Place {
    std::int64_t begin = 0, elements = 0;
  };
  virtual ~ExchangePlan() = default;

  virtual int columns() const = 0;
  virtual std::int64_t turns() const = 0;
  virtual Place sent(std::int64_t turn, int column) const = 0;
  virtual Place received(std::int64_t turn, int column) const = 0;
  /// So many turns of the column must have been received before this one is sent; one without elements
  /// has been as soon as those before it have.
  virtual std::int64_t received_before(std::int64_t turn) const = 0;

  /// What is received in this turn is added to the own values; else it is complete.
  virtual bool adds(std::int64_t turn) const = 0;
  /// The sum that this turn forms is complete.
  virtual bool completes(std::int64_t turn) const = 0;
  /// What this turn sends is the rank's own values, which nobody has added to.
  virtual bool sends_own(std::int64_t turn) const = 0;
};

}  // namespace tenax::comm
