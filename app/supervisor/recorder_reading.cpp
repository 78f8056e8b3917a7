#include "app/supervisor/recorder_reading.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "comm/failure.hpp"
#include "kernels/error.hpp"
#include "resilience/blame/wait_graph.hpp"
#include "resilience/recorder/recorder_file.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using resilience::ProcessState;
using resilience::RecorderImage;

namespace {

/// What nobody looks at for so long nobody waits for. A rank looks every 20 ms at least, where it has a processor.
constexpr auto kBetweenImages = std::chrono::milliseconds(100);
constexpr int kMostImages = 5;

/// `id` is this list's on this host.
void print_images(const std::vector<RecorderImage>& images, const std::string& id) {
  const std::string here = comm::this_host() + "." + std::to_string(getpid()) + "." + id + ".";
  for (std::size_t i = 0; i < images.size(); ++i)
    for (const std::string& line : resilience::image_lines(images[i], here + std::to_string(i)))
      std::printf("%s\n", line.c_str());
}

std::vector<std::string> with_option(const std::vector<std::string>& folders) {
  std::vector<std::string> arguments = {"--recorders"};
  arguments.insert(arguments.end(), folders.begin(), folders.end());
  return arguments;
}

// On the nodes of the allocation, beside the steps that stand there.
std::vector<std::string> reading_step(const ReplicaCommand& replica,
                                      const std::vector<std::string>& folders) {
  const char* const nodes = std::getenv("SLURM_JOB_NUM_NODES");
  std::vector<std::string> words = {"srun",    "--overlap",         "--mpi=none",    "--ntasks-per-node=1",
                                    "--nodes", nodes ? nodes : "1", replica.program, "--recorders"};
  words.insert(words.end(), folders.begin(), folders.end());
  return words;
}

/// It has no name in a folder: nothing is left of it where this process is killed.
io::PosixFile file_in_memory() {
  const fs::path what = "memory for what recorders hold";
  const int descriptor = memfd_create("tenax-recorders", MFD_CLOEXEC);
  if (descriptor < 0) io::throw_file_error("reserve", what, errno);
  return io::PosixFile::adopt(descriptor, what);
}

}  // namespace

ProcessState state_of_process(std::int64_t pid) {
  const auto code = process_state(static_cast<pid_t>(pid));
  if (!code || *code == 'Z' || *code == 'X') return ProcessState::gone;
  return *code == 'T' || *code == 't' ? ProcessState::stopped : ProcessState::running;
}

std::vector<RecorderImage> images_in(const fs::path& folder) {
  std::vector<RecorderImage> images;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (!resilience::is_recorder_name(entry.path().filename())) continue;
    try {
      images.push_back(resilience::image_of(*resilience::RecorderMap::open(entry.path())));
      images.back().state = state_of_process(images.back().pid);
    } catch (const kernels::Error&) {  // it is being made
    }
  }
  std::sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return images;
}

resilience::RecorderImages read_twice(const std::function<std::vector<RecorderImage>()>& read) {
  resilience::RecorderImages images{.before = read(), .now = {}};
  for (int i = 0; i < kMostImages; ++i) {
    std::this_thread::sleep_for(kBetweenImages);
    images.now = read();
    if (!resilience::some_idle(resilience::hang_dump(images.before, images.now, {}))) break;
  }
  return images;
}

int print_recorders(const std::vector<std::string>& folders) {
  const resilience::RecorderImages images = read_twice([&] {
    std::vector<RecorderImage> all;
    for (const std::string& folder : folders)
      for (RecorderImage& image : images_in(folder)) all.push_back(std::move(image));
    return all;
  });
  print_images(images.before, "before");
  print_images(images.now, "now");
  return 0;
}

std::vector<std::vector<std::string>> recorder_commands(const std::vector<ReplicaCommand>& replicas) {
  std::map<std::string, std::vector<std::string>> folders_of_host;
  std::vector<std::string> folders;
  for (const ReplicaCommand& replica : replicas) {
    folders.push_back(replica.scratch);
    for (const HostSlots& host : replica.hosts) folders_of_host[host.host].push_back(replica.scratch);
  }
  if (replicas.empty()) return {};
  if (replicas.front().method == LaunchMethod::srun) return {reading_step(replicas.front(), folders)};
  std::vector<std::vector<std::string>> commands;
  for (const auto& [host, of_host] : folders_of_host)
    commands.push_back(replicas.front().remote_call(host, with_option(of_host)));
  return commands;
}

RecorderReading::RecorderReading(const std::vector<std::vector<std::string>>& commands, double deadline_s)
    : deadline_s_(deadline_s) {
  for (const auto& words : commands) {
    printed_.push_back(file_in_memory());
    processes_.push_back(
        ReplicaProcess::start({.words = words, .environment = {}, .log = printed_.back().name_while_open()}));
  }
}

RecorderReading::~RecorderReading() {
  for (ReplicaProcess& process : processes_)
    if (!process.end_status()) process.kill_session();
}

bool RecorderReading::is_over(double now_s) {
  const bool have_ended = std::all_of(processes_.begin(), processes_.end(), [](ReplicaProcess& process) {
    return process.end_status().has_value();
  });
  return have_ended || now_s > deadline_s_;
}

// Where two nodes are one machine, each of them prints a rank's images, and those come in any order.
resilience::RecorderImages RecorderReading::images() const {
  std::map<std::pair<int, int>, std::vector<RecorderImage>> images;
  for (const io::PosixFile& printed : printed_) {
    std::ifstream file(printed.name_while_open());
    resilience::ImageReader reader;
    for (std::string line; std::getline(file, line);)
      if (auto image = reader.add(line)) images[{image->replica, image->rank}].push_back(std::move(*image));
  }
  resilience::RecorderImages both;
  for (auto& [seat, of_rank] : images) {
    if (of_rank.size() < 2) continue;
    const auto [earliest, latest] = std::minmax_element(
        of_rank.begin(), of_rank.end(), [](const auto& a, const auto& b) { return a.read_ns < b.read_ns; });
    both.before.push_back(std::move(*earliest));
    both.now.push_back(std::move(*latest));
  }
  return both;
}

}  // namespace tenax::app
