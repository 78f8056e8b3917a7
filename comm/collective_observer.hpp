// CollectiveObserver: who watches a rank's collectives: traces, and detection of groups that are
// slow.
#pragma once

#include <cstddef>
#include <string>

namespace tenax::comm {

enum class CollectiveKind { all_reduce, reduce_scatter, all_gather };
/// "all_reduce", …
const char* name_of(CollectiveKind kind);

/// One collective as this rank saw it. Times are seconds of the host's steady clock.
struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string group;      ///< "tensor", "data", …
  int ranks = 0;          ///< the group's size
  std::size_t bytes = 0;  ///< the whole tensor's
  double begin_s = 0;     ///< this rank's part was ready: the stream had come to the call
  /// The result was there. Where nothing moves a collective on but its caller (the CPU), when the
  /// caller found it so.
  double end_s = 0;
};

class CollectiveObserver {
 public:
  virtual ~CollectiveObserver() = default;
  virtual void on_collective(const CollectiveRecord& record) = 0;
};

}  // namespace tenax::comm
