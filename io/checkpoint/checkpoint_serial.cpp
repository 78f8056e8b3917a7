#include "io/checkpoint/checkpoint_serial.hpp"

#include <utility>

#include "io/checkpoint/checkpoint_data.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {
namespace {
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;
}

CheckpointInfo open_checkpoint(const std::filesystem::path& file) {
  return open_verified_checkpoint(file).info;
}

VerifiedCheckpoint open_verified_checkpoint(const std::filesystem::path& file) {
  PosixFile open = PosixFile::open_to_read(file);
  verify_seal(open);
  CheckpointInfo info = read_checkpoint_info(open);
  return {std::move(open), std::move(info)};
}

void read_checkpoint(const std::filesystem::path& file, const CheckpointInfo& info,
                     std::span<const StateRange> ranges) {
  read_checkpoint(PosixFile::open_to_read(file), info, ranges);
}

void read_checkpoint(const PosixFile& file, const CheckpointInfo& info, std::span<const StateRange> ranges) {
  RangeReader reader(file, info, ranges);
  while (reader.read_some(kPieceBytes)) {
  }
}

void write_checkpoint(const std::filesystem::path& target, CheckpointInfo info,
                      std::span<const StateRange> ranges) {
  check_folder_of(target);
  const TemporaryPath temporary = TemporaryPath::beside(target);
  info.parameters = merge_contributions({contributions_of(ranges)});
  info = create_checkpoint_file(temporary.path(), target, std::move(info));
  RangeWriter writer(temporary.path(), info, ranges);
  while (writer.write_some(kPieceBytes)) {
  }
  seal_checkpoint(temporary.path(), info, writer.checksum(), target);
}

}  // namespace tenax::io
