#include "resilience/checkpoint/checkpoint_save.hpp"

#include <algorithm>
#include <chrono>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_data.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checksum.hpp"
#include "io/posix_file.hpp"
#include "io/whole_file.hpp"
#include "kernels/deadline.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kWriteBytes = std::int64_t{64} << 20;

class Save {
 public:
  Save(comm::ControlGroup& group, const SaveRequest& request, std::span<const io::StateRange> ranges,
       const std::function<void()>& on_progress)
      : group_(group),
        request_(request),
        ranges_(ranges),
        on_progress_(on_progress),
        target_(request.writer.empty()
                    ? checkpoint_name(request.directory, request.step)
                    : pending_checkpoint_name(request.directory, request.step, request.writer)),
        temporary_(group.broadcast(io::temporary_name(target_).string(), 0)),
        cleanup_(is_root() ? temporary_ : fs::path()) {}

  std::int64_t run() {
    refuse_if_one_cannot();
    on_progress_();
    gather_checksums();
    on_progress_();
    create();
    on_progress_();
    const std::uint64_t checksum = write();
    seal(checksum);
    return info_.file_bytes;
  }

 private:
  bool is_root() const { return group_.rank() == 0; }

  void refuse_if_one_cannot() const {
    group_.agree([&] {
      if (!request_.refusal.empty()) throw kernels::Error(kernels::Scope::rank, request_.refusal);
    });
  }

  void refuse_if_abandoned() const {
    if (request_.abandoned && *request_.abandoned)
      throw kernels::Error(kernels::Scope::rank,
                           "another state took the place of this one before it was written");
  }

  /// The file's attributes need the checksums of whole tensors before anything is written.
  void gather_checksums() {
    const auto answers =
        comm::agreed_answers(group_, [&] { return io::to_text(io::contributions_of(ranges_)); });
    group_.agree([&] {
      if (!is_root()) return;
      std::vector<std::vector<io::StoredParameter>> of_rank;
      for (const std::string& answer : answers) of_rank.push_back(io::parse_parameters(answer));
      info_.step = request_.step;
      info_.model = request_.model;
      info_.deck = request_.deck;
      info_.origin = request_.origin;
      info_.next_sample = request_.next_sample;
      info_.parameters = io::merge_contributions(of_rank);
    });
  }

  void create() {
    std::string created;
    comm::agree_in_rounds(
        group_,
        [&] {
          if (is_root()) created = create_file();
          return is_root() && created.empty();
        },
        on_progress_);
    info_ = io::parse_info(group_.broadcast(created, 0));
  }

  /// Old checkpoints make room, where the disk is full and not all of them are to be kept. Empty: there is none yet.
  std::string create_file() {
    if (room_deadline_ && !awaits_room()) return {};
    make_checkpoint_directory(request_.directory);  // somebody may have removed it since the last time
    const std::int64_t free = free_bytes(request_.directory);
    try {
      return io::to_text(
          io::create_checkpoint_file(temporary_, checkpoint_name(request_.directory, request_.step), info_));
    } catch (const io::NoSpaceError&) {
      if (room_deadline_ ? room_deadline_->expired() : !make_room(free)) throw;
    }
    std::error_code ignored;
    fs::remove(temporary_, ignored);  // what it has got of the room counts as free again
    return {};
  }

  bool make_room(std::int64_t free) {
    if (request_.keep == 0) return false;
    if (!remove_oldest_checkpoints(request_.directory, io::bytes_of_tensors(info_) - free)) return false;
    room_deadline_ = kernels::Deadline::after_s(request_.room_wait_s);
    return true;
  }

  /// Whether to try again: at once, then every second that seems to have room, and at the deadline. No more are removed
  /// meanwhile, as those may give no room either.
  bool awaits_room() {
    if (retries_++ == 0) return true;
    refuse_if_abandoned();
    kernels::sleep_until_s(kernels::steady_now_s() + std::min(1.0, request_.room_wait_s));
    return free_bytes(request_.directory) >= io::bytes_of_tensors(info_) || room_deadline_->expired();
  }

  /// Returns the checksum of all tensors' bytes.
  std::uint64_t write() {
    std::optional<io::RangeWriter> writer;
    group_.agree([&] { writer.emplace(temporary_, info_, ranges_); });
    comm::agree_in_rounds(
        group_,
        [&] {
          refuse_if_abandoned();
          return writer->write_some(kWriteBytes);
        },
        on_progress_);
    std::uint64_t sum = 0;
    for (const std::string& part : group_.all_gather(io::checksum_text(writer->checksum()))) {
      sum += io::parse_checksum(part);
    }
    return sum;
  }

  void seal(std::uint64_t checksum) {
    group_.agree([&] {
      if (!is_root()) return;
      io::seal_checkpoint(temporary_, info_, checksum, target_);
      if (request_.writer.empty()) remove_old_checkpoints(request_.directory, request_.keep, request_.step);
    });
  }

  comm::ControlGroup& group_;
  const SaveRequest& request_;
  std::span<const io::StateRange> ranges_;
  const std::function<void()>& on_progress_;
  fs::path target_, temporary_;
  io::TemporaryPath cleanup_;  ///< on rank 0
  io::CheckpointInfo info_;
  std::optional<kernels::Deadline> room_deadline_;  ///< on rank 0, since old checkpoints were removed
  int retries_ = 0;                                 ///< since then
};

}  // namespace

SaveReport save_checkpoint(comm::ControlGroup& group, const SaveRequest& request,
                           std::span<const io::StateRange> ranges, const std::function<void()>& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  SaveReport report;
  report.step = request.step;
  report.file = checkpoint_name(request.directory, request.step);
  try {
    report.bytes = Save(group, request, ranges, on_progress).run();
  } catch (const comm::AgreedError& error) {
    report.failure = error.what();
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.end_s = kernels::steady_now_s();
  return report;
}

}  // namespace tenax::resilience
