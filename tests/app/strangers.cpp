// strangers COUNT PID…: finds the sockets on which these processes listen (as their user, or root), and calls at them COUNT times
// as nobody of their job would: silent, with garbage, with half a request, with descriptors; as root on Unix sockets every
// second time as another user. Prints how many sockets there are and how many descriptors a process had at most more than
// before; status 1 if that is more than 64, or there is no socket.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/comm/transport/strangers.hpp"

namespace {

using tenax::comm::FileDescriptor;
namespace fs = std::filesystem;

constexpr std::size_t kMostExtra = 64, kMostOpen = 400;
constexpr uid_t kNobody = 65534;

/// A TCP port of loopback, or an abstract name.
struct Listener {
  int port = 0;
  std::string name;
};

std::size_t descriptors_of(const std::string& process) {
  std::error_code error;
  const fs::directory_iterator all("/proc/" + process + "/fd", error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::set<std::string> sockets_of(const std::string& process) {
  std::set<std::string> inodes;
  for (const auto& entry : fs::directory_iterator("/proc/" + process + "/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error);
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Those that listen: state 0A in /proc/net/tcp, flag 00010000 in /proc/net/unix. Names of others than tenax's are longer or
/// shorter than its 32 digits; loopback is 0100007F.
std::vector<Listener> listeners_of(const std::string& process) {
  const std::set<std::string> own = sockets_of(process);
  std::vector<Listener> listeners;
  std::ifstream tcp("/proc/" + process + "/net/tcp"), unix_sockets("/proc/" + process + "/net/unix");
  for (std::string line; std::getline(tcp, line);)
    if (const auto words = words_of(line);
        words.size() > 9 && words[3] == "0A" && own.contains(words[9]) && words[1].starts_with("0100007F:"))
      listeners.push_back({std::stoi(words[1].substr(9), nullptr, 16), ""});
  for (std::string line; std::getline(unix_sockets, line);)
    if (const auto words = words_of(line); words.size() == 8 && words[3] == "00010000" &&
                                           own.contains(words[6]) && words[7].size() == 33 &&
                                           words[7][0] == '@')
      listeners.push_back({0, words[7].substr(1)});
  return listeners;
}

void call(const Listener& listener, int number, std::deque<FileDescriptor>& open) {
  FileDescriptor socket = listener.port != 0 ? tenax::comm::connect_to_loopback(listener.port)
                                             : tenax::comm::connect_to_name(listener.name);
  if (!socket) return;
  static const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<std::byte> garbage(300, static_cast<std::byte>(number));
  if (number % 4 == 1) tenax::comm::say(socket, garbage);
  if (number % 4 == 2) tenax::comm::say(socket, std::as_bytes(std::span("tenax 2\n and no more")));
  if (number % 4 == 3 && listener.port == 0)
    tenax::comm::say_with_descriptors(socket, {null.get(), null.get()});
  open.push_back(std::move(socket));
  if (open.size() > kMostOpen) open.pop_front();
}

void call_at_all(const std::vector<Listener>& listeners, int count) {
  std::deque<FileDescriptor> open;
  for (int i = 0; i < count; ++i) {
    const Listener& listener = listeners[static_cast<std::size_t>(i) % listeners.size()];
    const bool is_another_user =
        geteuid() == 0 && listener.port == 0 && i / static_cast<int>(listeners.size()) % 2 == 1;
    if (is_another_user && syscall(SYS_setresuid, -1, kNobody, -1) != 0) std::perror("setresuid");
    call(listener, i, open);
    if (is_another_user && syscall(SYS_setresuid, -1, 0, -1) != 0) std::perror("setresuid");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> processes(argv + std::min(argc, 2), argv + argc);
  std::vector<Listener> listeners;
  std::vector<std::size_t> before;
  for (const std::string& process : processes) {
    const std::vector<Listener> more = listeners_of(process);
    listeners.insert(listeners.end(), more.begin(), more.end());
    before.push_back(descriptors_of(process));
  }
  if (listeners.empty()) {
    std::printf("no sockets of tenax's are listened on\n");
    return 1;
  }
  const int count = std::stoi(argv[1]);
  std::atomic<bool> is_over{false};
  std::thread strangers([&] {
    call_at_all(listeners, count);
    is_over = true;
  });
  std::ptrdiff_t most = 0;
  while (!is_over) {
    for (std::size_t i = 0; i < processes.size(); ++i)
      most = std::max(most, static_cast<std::ptrdiff_t>(descriptors_of(processes[i]) - before[i]));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  strangers.join();
  std::printf("%zu sockets, %d strangers, at most %td descriptors more\n", listeners.size(), count, most);
  return most > static_cast<std::ptrdiff_t>(kMostExtra) ? 1 : 0;
}
