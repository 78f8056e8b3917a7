// A processor's line is "cpuN user nice system idle iowait irq softirq steal guest guest_nice", in
// ticks.
#include "resilience/diagnosis/stolen_time.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace tenax::resilience {
namespace {

constexpr double kReadEvery_s = 0.1;
constexpr std::size_t kLineBytes = 256;  // at the most

std::optional<io::PosixFile> open_if_there(const std::filesystem::path& path) {
  std::error_code failure;
  const int descriptor = io::open_regular_file(path, failure);
  if (descriptor < 0) return std::nullopt;
  return io::PosixFile::adopt(descriptor, path);
}

// The number in a column, the first is 0, of which one space separates each; 0 if it is not there.
double number_in(std::string_view line, int column) {
  for (; column > 0; --column) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) return 0;
    line.remove_prefix(space + 1);
  }
  std::uint64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return static_cast<double>(number);
}

// The sum over `processors`, which ascend.
double stolen_ticks(std::string_view text, const std::vector<int>& processors) {
  constexpr int kSteal = 7;  // the column behind the name
  double ticks = 0;
  for (const int processor : processors) {
    const std::string name = "\ncpu" + std::to_string(processor) + ' ';
    const std::size_t place = text.find(name);
    if (place == text.npos) continue;  // it is offline
    text.remove_prefix(place + name.size());
    ticks += number_in(text.substr(0, text.find('\n')), kSteal);
  }
  return ticks;
}

}  // namespace

StolenTime::StolenTime(const std::filesystem::path& processors, std::vector<int> allowed, double now_s)
    : allowed_(std::move(allowed)), file_(open_if_there(processors)), taken_at_s_(now_s), read_at_s_(now_s) {
  if (allowed_.empty()) return;
  text_.resize(kLineBytes * static_cast<std::size_t>(std::ranges::max(allowed_) + 2));
  stolen_s_ = read_stolen_s().value_or(0);
}

std::optional<double> StolenTime::read_stolen_s() {
  if (!file_) return std::nullopt;
  const ssize_t size = ::pread(file_->descriptor(), text_.data(), text_.size(), 0);
  if (size <= 0) return std::nullopt;
  const double ticks = stolen_ticks({text_.data(), static_cast<std::size_t>(size)}, allowed_);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) / static_cast<double>(allowed_.size());
}

double StolenTime::take(double now_s) {
  if (now_s - read_at_s_ >= kReadEvery_s) {
    const double stolen_s = read_stolen_s().value_or(stolen_s_);
    share_ = std::clamp((stolen_s - stolen_s_) / (now_s - read_at_s_), 0.0, 1.0);
    stolen_s_ = stolen_s;
    read_at_s_ = now_s;
  }
  const double seconds = share_ * (now_s - taken_at_s_);
  taken_at_s_ = now_s;
  return seconds;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  return processors;
}

}  // namespace tenax::resilience
