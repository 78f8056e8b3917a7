// The seal of a checkpoint: its first 4096 bytes (HDF5's user block). They tell without HDF5
// whether the file is complete and undamaged. HDF5 cannot safely parse damaged files, so it sees a
// checkpoint only after the seal has been verified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenax::io {

class PosixFile;

inline constexpr std::int64_t kSealBytes = 4096;

struct Seal {
  std::int64_t file_bytes = 0;
  std::uint64_t checksum = 0;  ///< over bytes [kSealBytes, file_bytes); word 0 is at byte 0
  bool operator==(const Seal&) const = default;
};

std::string render(const Seal& seal);  ///< kSealBytes bytes

/// Reads the seal and compares its size with the file's. Throws kernels::UnfitFileError if the file is
/// absent, no checkpoint of tenax or truncated, or if the seal is damaged; another kernels::Error(rank) if it cannot be read.
Seal read_seal(const std::filesystem::path& file);
/// Of an open file, also where its name is gone.
Seal read_seal(const PosixFile& file);

/// The bytes that rank `rank` of `ranks` verifies; `begin` is a multiple of 4.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
};
ByteRange share_of_file(const Seal& seal, int rank, int ranks);

/// The contribution of these bytes of the file to the checksum.
std::uint64_t checksum_of_file(const PosixFile& file, ByteRange range);

/// Throws kernels::UnfitFileError that the file is damaged unless `checksum`, summed over all bytes,
/// is the seal's.
void check_seal(const std::filesystem::path& file, const Seal& seal, std::uint64_t checksum);

/// Reads and checks the whole file by one thread.
void verify_seal(const std::filesystem::path& file);
void verify_seal(const PosixFile& file);

}  // namespace tenax::io
