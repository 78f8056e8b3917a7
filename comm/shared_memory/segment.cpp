// POSIX shared memory and not an MPI window: unmapping is local where MPI_Win_free is collective, so a rank
// that an error unwinds does not hang in it; and whether ranks can share is tried, not guessed from names of
// hosts. The name is gone as soon as all ranks have opened it, so a killed run leaves nothing in /dev/shm.
#include "comm/shared_memory/shared_memory_communicator.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "comm/text_exchange.hpp"

namespace tenax::comm {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

class MappedSegment final : public SharedSegment {
 public:
  MappedSegment(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  ~MappedSegment() override { munmap(data_, bytes_); }
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;
  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const override { return bytes_; }

 private:
  void* data_;
  std::size_t bytes_;
};

std::unique_ptr<SharedSegment> map(const File& file, std::size_t bytes) {
  if (file.descriptor() < 0) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  return data == MAP_FAILED ? nullptr : std::make_unique<MappedSegment>(data, bytes);
}

/// Allocates every page now: a full /dev/shm is an error here and not a SIGBUS later. Leaves nothing there but success.
std::unique_ptr<SharedSegment> create(const std::string& name, std::size_t bytes) {
  const File file(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.descriptor() < 0) return nullptr;
  std::unique_ptr<SharedSegment> segment;
  if (posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes)) == 0) segment = map(file, bytes);
  if (!segment) shm_unlink(name.c_str());
  return segment;
}

std::unique_ptr<SharedSegment> open_existing(const std::string& name, std::size_t bytes) {
  return map(File(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0)), bytes);
}

std::string new_name() {
  std::random_device random;
  return "/tenax." + std::to_string(getpid()) + "." + std::to_string(random()) + std::to_string(random());
}

}  // namespace

std::unique_ptr<SharedSegment> share_segment(Endpoint& endpoint, std::size_t bytes, double deadline_s) {
  const std::string operation = "setting up shared memory";
  const bool creates = endpoint.rank() == 0;
  std::unique_ptr<SharedSegment> segment;
  std::string name = creates ? new_name() : std::string();
  if (creates) segment = create(name, bytes);
  try {
    // An empty name says that rank 0 could not create it.
    name = broadcast_text(endpoint, creates && !segment ? "" : name, 0, operation, deadline_s);
    if (!creates && !name.empty()) segment = open_existing(name, bytes);
    const std::vector<std::string> outcomes =
        exchange_texts(endpoint, segment ? "mapped" : "failed", operation, deadline_s);
    if (std::count(outcomes.begin(), outcomes.end(), "mapped") != endpoint.size()) segment.reset();
  } catch (...) {
    if (creates) shm_unlink(name.c_str());
    throw;
  }
  if (creates && !name.empty()) shm_unlink(name.c_str());
  return segment;
}

}  // namespace tenax::comm
