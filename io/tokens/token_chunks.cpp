#include "io/tokens/token_chunks.hpp"

#include <algorithm>

namespace tenax::io {
namespace {

using Places = std::vector<std::int64_t>;

haddr_t end_of(hid_t file) {
  haddr_t end = 0;
  TENAX_HDF5(H5Fget_eoa(file, &end));
  return end;
}

/// As /chunks says; empty where it cannot be the list of `count` chunks.
Places listed_places(const TokenChunks& chunks, hsize_t count) {
  if (H5Lexists(chunks.file, kChunkList, H5P_DEFAULT) <= 0) return {};
  const hid_t opened = H5Dopen2(chunks.file, kChunkList, H5P_DEFAULT);
  if (opened < 0) return {};
  const Hdf5Id list(opened, H5Dclose);
  const Hdf5Id space(TENAX_HDF5(H5Dget_space(list)), H5Sclose), type(TENAX_HDF5(H5Dget_type(list)), H5Tclose);
  const bool is_list = H5Sget_simple_extent_npoints(space) == static_cast<hssize_t>(count);
  if (!is_list || H5Tequal(type, H5T_STD_I64LE) <= 0) return {};
  Places places(count);
  if (H5Dread(list, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, places.data()) < 0) return {};
  const auto last = static_cast<std::int64_t>(end_of(chunks.file) - chunks.bytes);
  const bool is_within = std::all_of(places.begin(), places.end(),
                                     [&](std::int64_t place) { return place >= 0 && place <= last; });
  return is_within ? places : Places();
}

/// In one walk, where this HDF5 has it; else empty.
Places walked_places([[maybe_unused]] const TokenChunks& chunks, [[maybe_unused]] hsize_t count) {
#if H5_VERSION_GE(1, 14, 0) || (H5_VERSION_GE(1, 12, 3) && !H5_VERSION_GE(1, 13, 0)) || \
    (H5_VERSION_GE(1, 10, 10) && !H5_VERSION_GE(1, 11, 0))
  struct Walk {
    hsize_t tokens;
    Places places;
  } walk{chunks.tokens, Places(count, kNoChunk)};
  const auto note = [](const hsize_t* first, unsigned, haddr_t place, hsize_t, void* data) -> int {
    auto& [tokens, places] = *static_cast<Walk*>(data);
    if (*first / tokens < places.size()) places[*first / tokens] = static_cast<std::int64_t>(place);
    return H5_ITER_CONT;
  };
  TENAX_HDF5(H5Dchunk_iter(chunks.dataset, H5P_DEFAULT, note, &walk));
  return walk.places;
#else
  return {};
#endif
}

/// Whether HDF5 finds some chunks, from the first to the last, where `places` has them: h5repack moves them, and copies
/// /chunks as it was.
bool are_right(const Places& places, const TokenChunks& chunks) {
  constexpr std::size_t kParts = 16;
  if (places.empty()) return false;
  for (std::size_t part = 0; part <= kParts; ++part) {
    const std::size_t chunk = (places.size() - 1) * part / kParts;
    if (places[chunk] != chunks.find(chunk * chunks.tokens)) return false;
  }
  return true;
}

}  // namespace

std::int64_t TokenChunks::find(hsize_t first) const {
  haddr_t place = HADDR_UNDEF;
  hsize_t stored_bytes = 0;
  unsigned filters = 0;
  TENAX_HDF5(H5Dget_chunk_info_by_coord(dataset, &first, &filters, &place, &stored_bytes));
  return place == HADDR_UNDEF ? kNoChunk : static_cast<std::int64_t>(place);
}

std::vector<std::int64_t> TokenChunks::find_all(hsize_t count) const {
  if (count <= end_of(file) / bytes) {  // else some are missing
    if (Places places = listed_places(*this, count); are_right(places, *this)) return places;
    if (Places places = walked_places(*this, count); are_right(places, *this)) return places;
  }
  Places places;
  for (hsize_t chunk = 0; chunk < count && (places.empty() || places.back() != kNoChunk); ++chunk)
    places.push_back(find(chunk * tokens));
  return places;
}

// Where the file has grown by a chunk, that one is what it has grown by. Else it has also made room for something else.
void ChunkNotes::add(const TokenChunks& chunks, hsize_t first, const std::function<void()>& write) {
  const haddr_t before = end_of(chunks.file);
  write();
  const bool is_alone = end_of(chunks.file) - before == chunks.bytes;
  places_.push_back(is_alone ? static_cast<std::int64_t>(before) : chunks.find(first));
}

}  // namespace tenax::io
