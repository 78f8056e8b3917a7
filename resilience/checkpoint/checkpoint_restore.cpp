#include "resilience/checkpoint/checkpoint_restore.hpp"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_data.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checksum.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::resilience {
namespace {
// By each thread of a rank between two messages: seconds, also where a thousand ranks share a storage of a few GB/s.
constexpr std::int64_t kReadBytes = std::int64_t{16} << 20;

/// Want of memory, for one, names no file.
std::string naming(const std::filesystem::path& file, const std::string& reason) {
  const bool is_named = reason.find(file.string()) != std::string::npos;
  return is_named ? reason : "cannot read " + file.string() + ": " + reason;
}

/// As io::checksum_of_file, kReadBytes by each thread.
std::uint64_t checksum_by_threads(const io::PosixFile& file, io::ByteRange range) {
  std::vector<std::future<std::uint64_t>> helpers;
  try {
    for (; range.begin + kReadBytes < range.end; range.begin += kReadBytes)
      helpers.push_back(kernels::new_async([&file, begin = range.begin] {
        return io::checksum_of_file(file, {begin, begin + kReadBytes});
      }));
  } catch (const kernels::Error&) {  // no more threads: this one reads the rest
  }
  std::uint64_t sum = io::checksum_of_file(file, range);
  for (auto& helper : helpers) sum += helper.get();
  return sum;
}

}  // namespace

CheckpointReader::CheckpointReader(comm::ControlGroup& group, std::filesystem::path file,
                                   const Verification& verification)
    : group_(group), file_(std::move(file)) {
  try {
    verify(verification);
    read_info();
  } catch (const comm::AgreedUnfitFileError&) {
    throw;
  } catch (const comm::AgreedError& error) {
    throw UnreadableCheckpoint(error.scope(), naming(file_, error.what()));
  }
}

void CheckpointReader::read_info() {
  const auto answers = comm::agreed_answers(group_, [&] {
    return group_.rank() == 0 ? io::to_text(io::read_checkpoint_info(file_)) : std::string();
  });
  info_ = io::parse_info(answers[0]);
}

CheckpointReader::CheckpointReader(comm::ControlGroup& group, io::VerifiedCheckpoint checkpoint)
    : group_(group),
      file_(checkpoint.file.path()),
      open_(std::move(checkpoint.file)),
      info_(std::move(checkpoint.info)) {}

void CheckpointReader::verify(const Verification& verification) {
  io::Seal seal;
  std::optional<io::PosixFile> file;
  group_.agree([&] {
    seal = io::read_seal(file_);
    file.emplace(io::PosixFile::open_to_read(file_));
  });
  const io::ByteRange share = io::share_of_file(seal, group_.rank(), group_.size());
  constexpr int kMostThreads = 8;  // a slow file system has done with their pieces within seconds, too
  const std::int64_t round_bytes = std::clamp(verification.threads, 1, kMostThreads) * kReadBytes;
  io::ByteRange rest = share;
  std::uint64_t mine = 0;
  comm::agree_in_rounds(group_, [&] {
    verification.look(rest.begin - share.begin, share.end - share.begin);
    const std::int64_t end = std::min(rest.begin + round_bytes, rest.end);
    mine += checksum_by_threads(*file, {rest.begin, end});
    rest.begin = end;
    return rest.begin < rest.end;
  });
  std::uint64_t sum = 0;
  for (const std::string& part : group_.all_gather(io::checksum_text(mine))) sum += io::parse_checksum(part);
  group_.agree([&] { io::check_seal(file_, seal, sum); });
}

void CheckpointReader::read(std::span<const io::StateRange> ranges) {
  std::optional<io::PosixFile> opened;
  std::optional<io::RangeReader> reader;
  group_.agree([&] {
    if (!open_) opened.emplace(io::PosixFile::open_to_read(file_));
    reader.emplace(open_ ? *open_ : *opened, info_, ranges);
  });
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
