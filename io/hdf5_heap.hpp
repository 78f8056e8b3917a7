// Global heaps of HDF5 files: where text of variable length lies. HDF5 1.10 does not check what it reads of them: an
// object without length makes it loop for ever (H5HG__cache_heap_deserialize).
#pragma once

#include <cstddef>
#include <span>

namespace tenax::io {

/// Whether HDF5 can safely read the global heaps in this part of a file: the objects of each collection follow one
/// another up to its end.
bool has_sound_heaps(std::span<const std::byte> part);

}  // namespace tenax::io
