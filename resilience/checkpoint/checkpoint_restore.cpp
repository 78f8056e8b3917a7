#include "resilience/checkpoint/checkpoint_restore.hpp"

#include <algorithm>
#include <optional>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_data.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checksum.hpp"
#include "io/posix_file.hpp"

namespace tenax::resilience {
namespace {
// By each rank between two messages: seconds, also where a thousand ranks share a storage of a few GB/s.
constexpr std::int64_t kReadBytes = std::int64_t{16} << 20;
}  // namespace

CheckpointReader::CheckpointReader(comm::ControlGroup& group, std::filesystem::path file)
    : group_(group), file_(std::move(file)) {
  verify();
  const auto answers = comm::agreed_answers(group_, [&] {
    return group_.rank() == 0 ? io::to_text(io::read_checkpoint_info(file_)) : std::string();
  });
  info_ = io::parse_info(answers[0]);
}

void CheckpointReader::verify() {
  io::Seal seal;
  std::optional<io::PosixFile> file;
  group_.agree([&] {
    seal = io::read_seal(file_);
    file.emplace(io::PosixFile::open_to_read(file_));
  });
  io::ByteRange rest = io::share_of_file(seal, group_.rank(), group_.size());
  std::uint64_t mine = 0;
  comm::agree_in_rounds(group_, [&] {
    const std::int64_t end = std::min(rest.begin + kReadBytes, rest.end);
    mine += io::checksum_of_file(*file, {rest.begin, end});
    rest.begin = end;
    return rest.begin < rest.end;
  });
  std::uint64_t sum = 0;
  for (const std::string& part : group_.all_gather(io::checksum_text(mine))) sum += io::parse_checksum(part);
  group_.agree([&] { io::check_seal(file_, seal, sum); });
}

void CheckpointReader::read(std::span<const io::StateRange> ranges) {
  std::optional<io::RangeReader> reader;
  group_.agree([&] { reader.emplace(file_, info_, ranges); });
  comm::agree_in_rounds(group_, [&] { return reader->read_some(kReadBytes); });
}

io::CheckpointInfo restore_checkpoint(comm::ControlGroup& group, const std::filesystem::path& file,
                                      std::span<const io::StateRange> ranges, const io::ModelSizes& wanted) {
  CheckpointReader reader(group, file);
  group.agree([&] { reader.check_model(wanted); });
  reader.read(ranges);
  return reader.info();
}

}  // namespace tenax::resilience
