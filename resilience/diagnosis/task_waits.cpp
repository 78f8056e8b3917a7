// schedstat has three numbers: ns on a processor, ns of waiting for one while ready, turns. What a
// cgroup's quota keeps a thread from running is in the second (Linux 6.18: 0.78 s throttled within
// 0.97 s of waiting), so that cpu.stat's throttled_usec would count it twice.
#include "resilience/diagnosis/task_waits.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace tenax::resilience {
namespace {

constexpr int kListEvery = 16;  // calls

// None where the thread has ended, or the text is another.
std::optional<double> waited_s(const io::PosixFile& schedstat) {
  std::array<char, 128> bytes{};
  const ssize_t size = ::pread(schedstat.descriptor(), bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t space = text.find(' ');
  if (space == text.npos) return std::nullopt;
  std::uint64_t nanoseconds = 0;
  const auto result = std::from_chars(text.data() + space + 1, text.data() + text.size(), nanoseconds);
  if (result.ec != std::errc{}) return std::nullopt;
  return static_cast<double>(nanoseconds) * 1e-9;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    names.insert(entry->path().filename().string());
  return names;
}

}  // namespace

TaskWaits::TaskWaits(std::filesystem::path tasks) : tasks_folder_(std::move(tasks)) { list_tasks(); }

void TaskWaits::list_tasks() {
  const std::set<std::string> names = names_in(tasks_folder_);
  std::erase_if(tasks_, [&](const auto& task) { return !names.contains(task.first); });
  for (const std::string& name : names)
    if (!tasks_.contains(name)) open_task(name);
}

void TaskWaits::open_task(const std::string& name) {
  const std::filesystem::path path = tasks_folder_ / name / "schedstat";
  std::error_code failure;
  const int descriptor = io::open_regular_file(path, failure);
  if (descriptor < 0) return;
  io::PosixFile schedstat = io::PosixFile::adopt(descriptor, path);
  const std::optional<double> waited = waited_s(schedstat);
  if (waited) tasks_.emplace(name, Task{.schedstat = std::move(schedstat), .waited_s = *waited});
}

double TaskWaits::take() {
  double longest_s = 0;
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    const std::optional<double> waited = waited_s(task->second.schedstat);
    if (!waited) {
      task = tasks_.erase(task);
      continue;
    }
    longest_s = std::max(longest_s, *waited - task->second.waited_s);
    task->second.waited_s = *waited;
    ++task;
  }
  if (++calls_ % kListEvery == 0) list_tasks();
  return longest_s;
}

}  // namespace tenax::resilience
