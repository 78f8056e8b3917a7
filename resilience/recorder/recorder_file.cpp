#include "resilience/recorder/recorder_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

const std::string kRecorderPrefix = "recorder-";

[[noreturn]] void fail_recorder(const std::string& what, const std::filesystem::path& file, int error) {
  throw kernels::Error(kernels::Scope::rank, "the flight recorder " + file.string() + " cannot be " + what +
                                                 ": " + std::generic_category().message(error));
}

void* map_recorder(int descriptor, int protection) {
  return mmap(nullptr, sizeof(RecorderFile), protection, MAP_SHARED, descriptor, 0);
}

}  // namespace

// posix_fallocate: a page that memory has no room for would end the process when it is written.
RecorderMap RecorderMap::create(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) fail_recorder("made", file, errno);
  const int failure = posix_fallocate(descriptor, 0, sizeof(RecorderFile));
  void* const memory = failure == 0 ? map_recorder(descriptor, PROT_READ | PROT_WRITE) : MAP_FAILED;
  const int error = failure != 0 ? failure : errno;
  close(descriptor);
  if (memory == MAP_FAILED) fail_recorder("made", file, error);
  return RecorderMap(new (memory) RecorderFile);
}

RecorderMap RecorderMap::open(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_recorder("read", file, errno);
  struct stat status {};
  const bool is_whole = fstat(descriptor, &status) == 0 && status.st_size == sizeof(RecorderFile);
  void* const memory = is_whole ? map_recorder(descriptor, PROT_READ) : MAP_FAILED;
  const int error = is_whole ? errno : EINVAL;
  close(descriptor);
  if (memory == MAP_FAILED) fail_recorder("read", file, error);
  RecorderMap map(static_cast<RecorderFile*>(memory));
  if (map->magic.load(std::memory_order_acquire) != RecorderFile::kMagic) fail_recorder("read", file, EINVAL);
  return map;
}

RecorderMap::RecorderMap(RecorderMap&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}

RecorderMap::~RecorderMap() {
  if (file_) munmap(file_, sizeof(RecorderFile));
}

bool is_recorder_name(const std::string& name) { return name.starts_with(kRecorderPrefix); }

std::string recorder_name(int rank) { return kRecorderPrefix + std::to_string(rank); }

void put_text(std::atomic<char>* letters, std::size_t size, const std::string& text) {
  for (std::size_t i = 0; i < size; ++i)
    letters[i].store(i < text.size() ? text[i] : '\0', std::memory_order_relaxed);
}

std::string text_of(const std::atomic<char>* letters, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    const char letter = letters[i].load(std::memory_order_acquire);
    if (letter == '\0') break;
    text += letter;
  }
  return text;
}

}  // namespace tenax::resilience
