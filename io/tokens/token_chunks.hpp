// Where the chunks of /tokens lie in a token file. HDF5 walks all of them to find one, a quarter of a microsecond each:
// ten minutes in all for the 69,000 chunks of 9e9 tokens. So the writer notes the place of each as it writes it, and
// leaves the list in the file as /chunks. The caller holds an Hdf5Session; failures throw kernels::Error(rank).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "io/hdf5.hpp"

namespace tenax::io {

inline constexpr char kChunkList[] = "/chunks";
inline constexpr std::int64_t kNoChunk = -1;  ///< the place of one that the file lacks

/// The chunks of `dataset` = /tokens in `file`, both open; all are stored whole.
struct TokenChunks {
  hid_t file, dataset;
  hsize_t tokens, bytes;  ///< of a chunk

  /// Bytes from the file's beginning to the chunk that begins with token `first`, or kNoChunk. Walks all chunks
  /// before that one.
  std::int64_t find(hsize_t first) const;
  /// Of all `count` chunks; none after the first kNoChunk that HDF5 was asked for. As /chunks says, where that list is
  /// as long, within the file, and right in some places all over it, else as HDF5 finds them.
  std::vector<std::int64_t> find_all(hsize_t count) const;
};

/// The list while it grows. Of chunks that are written one after the other, past HDF5's cache of chunks.
class ChunkNotes {
 public:
  /// Calls `write`, which writes the chunk that begins with token `first`, and nothing else.
  void add(const TokenChunks& chunks, hsize_t first, const std::function<void()>& write);
  const std::vector<std::int64_t>& places() const { return places_; }

 private:
  std::vector<std::int64_t> places_;
};

}  // namespace tenax::io
