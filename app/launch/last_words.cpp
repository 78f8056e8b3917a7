#include "app/launch/last_words.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

namespace tenax::app {
namespace {

/// How mpirun encloses what it has to say.
bool is_rule(std::string_view line) {
  constexpr std::size_t kLeast = 20;
  return line.size() >= kLeast && line.find_first_not_of('-') == std::string_view::npos;
}

/// How Open MPI 5, which cannot be told to be quiet, begins to say that a rank has ended. What the rank said itself counts.
bool is_first_of_obituary(std::string_view line) {
  const auto names = [&](std::string_view event) { return line.find(event) != std::string_view::npos; };
  return line.starts_with("prterun ") &&
         (names(" detected that one or more processes exited") || names(" noticed that process rank "));
}

/// An error or notice of a rank, or a line of what has started it.
bool is_on_stderr(std::string_view line) {
  constexpr std::string_view kSpeakers[] = {"tenax: ", "mpirun", "prterun", "srun: ", "slurmstepd: ", "["};
  return std::any_of(std::begin(kSpeakers), std::end(kSpeakers),
                     [&](std::string_view speaker) { return line.starts_with(speaker); });
}

/// Goes through a log line by line. Before the banner whoever starts the ranks may say anything.
class LogReading {
 public:
  explicit LogReading(bool is_behind_banner) : is_behind_banner_(is_behind_banner) {}

  void take(std::string line) {
    constexpr std::string_view kBannersFirst = "tenax    ";
    if (line.ends_with('\r')) line.pop_back();  // of a remote shell
    if (is_rule(line)) is_enclosed_ = !is_enclosed_;
    is_obituary_ = is_enclosed_ && (is_obituary_ || is_first_of_obituary(line));
    if (line.starts_with(kBannersFirst)) is_behind_banner_ = true;
    const bool counts = !is_behind_banner_ || is_enclosed_ || is_on_stderr(line);
    if (counts && !is_obituary_ && line.find_first_not_of(" -\t") != std::string::npos)
      words_ = std::move(line);
  }

  const std::string& words() const { return words_; }

 private:
  bool is_behind_banner_;
  bool is_enclosed_ = false;
  bool is_obituary_ = false;
  std::string words_;
};

/// mpirun, srun and shells end with 128 + the signal that has ended what they started.
std::string end_of(int status) {
  constexpr int kBySignal = 128;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : std::max(code - kBySignal, 0);
  if (signal > 0) return " by signal " + std::to_string(signal);
  return code > 0 ? " with status " + std::to_string(code) : "";
}

}  // namespace

std::string last_words(const std::filesystem::path& log, std::uintmax_t from, int status) {
  constexpr std::streamoff kMostBytes = 64 << 10;
  const auto first = static_cast<std::streamoff>(from);
  std::ifstream file(log, std::ios::ate);
  const std::streamoff end = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  const bool is_cut = end - kMostBytes > first;
  file.seekg(std::max(first, end - kMostBytes));
  LogReading reading(is_cut);
  std::string line;
  if (is_cut) std::getline(file, line);  // the rest of one
  while (std::getline(file, line)) reading.take(line);
  if (!reading.words().empty()) return reading.words();
  return "it ended" + end_of(status) + " without a word; see " + log.string();
}

}  // namespace tenax::app
