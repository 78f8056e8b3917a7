// A fuzz target as a test: FUZZ_TARGET [CORPUS_FOLDER] tries the target's seeds, the files of the folder, and inputs made
// from both: the same sequence each time, until a second or 20 000 inputs are over. The input that ends the program
// stays in the working directory as TARGET.finding.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/mutator.hpp"

namespace {

namespace fs = std::filesystem;

constexpr int kMostInputs = 20'000;
constexpr std::chrono::seconds kTime{1};
constexpr unsigned kDeadline_s = 60;  // of one input

// What the signal handler needs; a handler has no other way to it.
std::string input;
std::string finding;

/// Only calls that a signal handler may make.
void keep_input(int signal) {
  const int file = open(finding.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool is_kept = file >= 0 && write(file, input.data(), input.size()) >= 0;
  constexpr std::string_view kKept = "fuzz: the input that did this is kept in the working directory\n";
  if (is_kept) static_cast<void>(!write(STDERR_FILENO, kKept.data(), kKept.size()));
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void watch_signals() {
  static std::array<char, 1 << 16> stack;  // that of the thread may be what has run out
  const stack_t alternative = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = keep_input;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
    sigaction(signal, &action, nullptr);
}

void try_input(std::string next) {
  input = std::move(next);
  alarm(kDeadline_s);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  alarm(0);
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  finding = fs::path(argv[0]).filename().string() + ".finding";
  watch_signals();
  std::vector<std::string> inputs = tenax::fuzz::seeds();
  const auto files = files_of(argc > 1 ? argv[1] : "");
  inputs.insert(inputs.end(), files.begin(), files.end());
  try_input("");
  for (const std::string& known : inputs) try_input(known);
  tenax::fuzz::Mutator mutator(1);
  const auto end = std::chrono::steady_clock::now() + kTime;
  int made = 0;
  for (; made < kMostInputs && std::chrono::steady_clock::now() < end; ++made)
    try_input(mutator.next(inputs));
  std::printf("%zu inputs known, %d made from them\n", inputs.size(), made);
}
