#include "resilience/checkpoint/checkpoint_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/posix_file.hpp"
#include "io/set_aside.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

/// The step in "step-NNNNNN.h5" (six digits or more), if `name` is of that form.
std::optional<std::int64_t> step_of(std::string_view name) {
  constexpr std::string_view kPrefix = "step-", kSuffix = ".h5";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return {};
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kSuffix.size()));
  const bool is_formed = name.size() >= 6 && !name.starts_with('-');
  return is_formed ? kernels::number_of<std::int64_t>(name) : std::nullopt;
}

struct PendingName {
  std::int64_t step;
  std::string_view writer;
};
/// "step-NNNNNN.h5.WRITER", if `name` is of that form.
std::optional<PendingName> pending_of(std::string_view name) {
  constexpr std::string_view kSuffix = ".h5", kWriter = "replica-";
  const std::size_t mark = name.find(kSuffix);
  if (mark == std::string_view::npos) return {};
  const auto step = step_of(name.substr(0, mark + kSuffix.size()));
  name.remove_prefix(mark + kSuffix.size());
  if (!step || !name.starts_with('.') || !name.substr(1).starts_with(kWriter)) return {};
  return PendingName{*step, name.substr(1)};
}

bool is_half_written(const std::string& name) {
  const std::string target = io::target_of_temporary(name);
  return step_of(target) || pending_of(target);
}

bool is_leftover(const std::string& name) { return is_half_written(name) || pending_of(name); }

void remove_files(const fs::path& directory, const std::function<bool(const std::string& name)>& is_one) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (is_one(entry.path().filename().string())) fs::remove(entry.path(), error);
}

/// What `read` makes of the directory's entries, by increasing step.
std::vector<CheckpointFile> list_files(
    const fs::path& directory, const std::function<std::optional<CheckpointFile>(const fs::path&)>& read) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (auto file = read(entry->path())) files.push_back(*std::move(file));
  const bool is_absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_absent) io::throw_file_error("read", directory, error);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return files;
}

[[noreturn]] void fail(const fs::path& directory, const std::string& reason) {
  throw Error(Scope::rank, "cannot write checkpoints to " + directory.string() + ": " + reason);
}

std::string size_text(std::int64_t bytes) {
  constexpr double kMega = 1e6, kGiga = 1e9;
  const auto size = static_cast<double>(bytes);
  char text[40];
  std::snprintf(text, sizeof text, size < kGiga ? "%.3g MB" : "%.4g GB",
                size / (size < kGiga ? kMega : kGiga));
  return text;
}

}  // namespace

fs::path checkpoint_name(const fs::path& directory, std::int64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%06lld.h5", static_cast<long long>(step));
  return directory / name;
}

fs::path pending_checkpoint_name(const fs::path& directory, std::int64_t step, const std::string& writer) {
  return checkpoint_name(directory, step).string() + "." + writer;
}

std::vector<CheckpointFile> list_checkpoints(const fs::path& directory) {
  return list_files(directory, [](const fs::path& file) -> std::optional<CheckpointFile> {
    const auto step = step_of(file.filename().string());
    if (!step) return {};
    return CheckpointFile{*step, file};
  });
}

std::vector<CheckpointFile> list_pending_checkpoints(const fs::path& directory) {
  return list_files(directory, [](const fs::path& file) -> std::optional<CheckpointFile> {
    const std::string name = file.filename().string();
    const auto pending = pending_of(name);
    if (!pending) return {};
    return CheckpointFile{pending->step, file, std::string(pending->writer)};
  });
}

namespace {

/// To the name of its place with a number, whether it had that place or not.
fs::path set_aside(const fs::path& directory, const CheckpointFile& file) {
  std::error_code error;
  fs::path target = io::free_name_beside(checkpoint_name(directory, file.step));
  fs::rename(file.path, target, error);
  if (error) fail(directory, "cannot rename " + file.path.string() + ": " + error.message());
  return target;
}

bool may_be_complete(const fs::path& file) {
  try {
    io::read_seal(file);
  } catch (const kernels::UnfitFileError&) {
    return false;
  } catch (const Error&) {  // it cannot be read just now
  }
  return true;
}

}  // namespace

std::vector<fs::path> set_aside_checkpoints(const fs::path& directory, std::int64_t after_step) {
  std::vector<fs::path> moved;
  for (const CheckpointFile& file : list_checkpoints(directory))
    if (file.step > after_step) moved.push_back(set_aside(directory, file));
  return moved;
}

std::vector<fs::path> set_aside_pending_checkpoints(const fs::path& directory, std::int64_t after_step,
                                                    const std::optional<std::set<std::string>>& writers) {
  std::vector<fs::path> moved;
  for (const CheckpointFile& file : list_pending_checkpoints(directory))
    if (file.step > after_step && (!writers || writers->contains(file.writer)) && may_be_complete(file.path))
      moved.push_back(set_aside(directory, file));
  return moved;
}

void make_checkpoint_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail(directory, error.message());
  if (::access(directory.c_str(), W_OK | X_OK) != 0) fail(directory, std::strerror(errno));
}

void prepare_checkpoint_directory(const fs::path& directory) {
  make_checkpoint_directory(directory);
  remove_files(directory, is_leftover);
}

void remove_half_written_checkpoints(const fs::path& directory) { remove_files(directory, is_half_written); }

bool place_checkpoint(const fs::path& directory, std::int64_t step, const std::string& writer,
                      std::int64_t keep) {
  const fs::path pending = pending_checkpoint_name(directory, step, writer);
  std::error_code error;
  const bool exists = fs::exists(pending, error);
  if (error) fail(directory, "cannot look at " + pending.string() + ": " + error.message());
  if (!exists) return false;
  io::publish(pending, checkpoint_name(directory, step));
  remove_old_checkpoints(directory, keep, step);
  return true;
}

void remove_pending_checkpoints(const fs::path& directory, const std::optional<std::string>& writer,
                                std::optional<std::int64_t> most_steps) {
  remove_files(directory, [&](const std::string& name) {
    const std::string target = io::target_of_temporary(name);
    const auto found = pending_of(target.empty() ? name : target);
    if (!found || (writer && found->writer != *writer)) return false;
    return !target.empty() || !most_steps || found->step <= *most_steps;
  });
}

namespace {

/// For those who remove some: what is not known stays.
std::vector<CheckpointFile> list_if_readable(const fs::path& directory) {
  try {
    return list_checkpoints(directory);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void remove_old_checkpoints(const fs::path& directory, std::int64_t keep, std::int64_t just_written) {
  if (keep <= 0) return;
  std::vector<CheckpointFile> others = list_if_readable(directory);
  std::erase_if(others, [&](const CheckpointFile& file) { return file.step == just_written; });
  const auto surplus = std::max<std::int64_t>(static_cast<std::int64_t>(others.size()) - (keep - 1), 0);
  std::error_code ignored;
  for (std::int64_t i = 0; i < surplus; ++i) fs::remove(others[static_cast<std::size_t>(i)].path, ignored);
}

std::int64_t free_bytes(const fs::path& directory) {
  constexpr std::int64_t kMost = INT64_MAX / 2;
  std::error_code error;
  const fs::space_info disk = fs::space(directory, error);
  return error ? kMost : static_cast<std::int64_t>(std::min<std::uintmax_t>(disk.available, kMost));
}

bool remove_oldest_checkpoints(const fs::path& directory, std::int64_t lacking) {
  std::vector<fs::path> removed;
  std::vector<CheckpointFile> files = list_if_readable(directory);
  if (!files.empty()) files.pop_back();
  std::error_code error;
  for (const CheckpointFile& file : files) {
    if (lacking <= 0 && !removed.empty()) break;
    const std::uintmax_t bytes = fs::file_size(file.path, error);
    if (!error) lacking -= static_cast<std::int64_t>(bytes);
    removed.push_back(file.path);
  }
  return lacking <= 0 && !removed.empty() &&
         std::all_of(removed.begin(), removed.end(),
                     [&](const fs::path& file) { return fs::remove(file, error); });
}

std::string check_room_for_checkpoints(const fs::path& directory, const CheckpointPlan& plan) {
  std::error_code error;
  const fs::space_info disk = fs::space(directory, error);
  if (error) return {};  // nothing known: the writes will tell
  std::int64_t kept = 0, newest = 0;
  for (const CheckpointFile& file : list_checkpoints(directory)) {
    if (file.step > plan.steps_done) continue;
    const std::uintmax_t bytes = fs::file_size(file.path, error);
    newest = error ? 0 : static_cast<std::int64_t>(bytes);
    kept += newest;
  }
  const auto free = static_cast<std::int64_t>(std::min<std::uintmax_t>(disk.available, INT64_MAX / 2));
  const std::int64_t made = plan.keep == 0 ? 0 : kept - newest;  // by removing all but the newest
  const std::string place =
      "the disk of " + directory.string() + " has " + size_text(free + made) + " left for checkpoints, and ";
  if (free + made < plan.bytes)
    throw Error(Scope::rank,
                place + "one takes " + size_text(plan.bytes) +
                    ": make room or choose another with checkpoint.dir (checkpoint.interval=-1 writes none)");
  if (free + kept >= plan.bytes * plan.keep) return {};
  return place + std::to_string(plan.keep) + " of " + size_text(plan.bytes) +
         " are to be kept: old ones will have to make room for new ones";
}

}  // namespace tenax::resilience
