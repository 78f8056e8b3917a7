// The table of buffers that two processes share, as the other one leaves it: a code (8 bytes), then what it writes where, 16 bytes
// each (which word, what). Whatever it says of a message's buffer, this end finds none, or one of the other end's.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "comm/buffers/buffer_mapper.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace tenax::fuzz {
namespace {

using comm::BufferDirectory;
using comm::MessageKey;
using comm::SharedBufferId;
using comm::SharedMemoryArea;

constexpr std::size_t kBegin = (sizeof(BufferDirectory::Memory) + SharedMemoryArea::kPage - 1) /
                               SharedMemoryArea::kPage * SharedMemoryArea::kPage;
constexpr MessageKey kKey{1, 4, 9};

std::shared_ptr<SharedMemoryArea> create_area() {
  comm::FileDescriptor memory(memfd_create("fuzz", MFD_CLOEXEC));
  require(ftruncate(memory.get(), static_cast<off_t>(SharedMemoryArea::kBytes)) == 0,
          "there is memory to share");
  return std::make_shared<SharedMemoryArea>(std::move(memory), 0, comm::ConnectionEnd::connecting);
}

/// As a peer may: the words of messages, and the rows of its first buffers.
void write_words(BufferDirectory::Memory& memory, std::span<const std::uint8_t> bytes) {
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    std::uint64_t where = 0, what = 0;
    std::memcpy(&where, bytes.data(), 8);
    std::memcpy(&what, bytes.data() + 8, 8);
    auto& row = memory.rows[where >> 8 & 1][(where >> 9) % SharedBufferId::kBuffers];
    if (where % 4 == 0) row.offset = what;
    if (where % 4 == 1) row.bytes = what;
    if (where % 4 >= 2)
      memory.words[kKey.sender][(static_cast<std::uint64_t>(kKey.tag) + kKey.number * 977) %
                                BufferDirectory::kBuckets] = what;
  }
}

void look_up(BufferDirectory& directory, comm::BufferMapper& mapper, SharedBufferId buffer) {
  const auto memory = mapper.map(buffer);
  if (memory) {
    const std::size_t offset = directory.row(buffer).offset, bytes = directory.row(buffer).bytes;
    require(offset >= kBegin && bytes > 0 && bytes <= SharedMemoryArea::kBytes - offset,
            "what is mapped lies behind the table");
    require(mapper.bytes(buffer) == bytes, "it is as large as was said");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  BufferDirectory::Memory memory{};
  BufferDirectory other(memory, 1);
  const SharedBufferId buffer{1, 7};
  other.offer(kKey, buffer);
  const std::uint64_t line =
      (static_cast<std::uint64_t>(kKey.tag) + kKey.number * 977) % BufferDirectory::kBuckets;
  const std::uint64_t row = buffer.index << 9 | 1 << 8;
  const std::vector<std::uint64_t> words = {
      buffer.code(), 2,   memory.words[kKey.sender][line].load(), row, SharedMemoryArea::kBytes / 4 * 3,
      row | 1,       8192};
  return {std::string(reinterpret_cast<const char*>(words.data()), words.size() * 8)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  using namespace tenax::fuzz;
  static const auto device = kernels::create_cpu_device();
  static const auto area = create_area();
  if (size < 8) return 0;
  std::uint64_t code = 0;
  std::memcpy(&code, data, sizeof code);
  if (const auto buffer = SharedBufferId::parse(code))
    require(buffer->code() == code, "a code that is read is the place's");
  const auto memory = std::make_unique<BufferDirectory::Memory>();
  BufferDirectory directory(*memory, 0);
  comm::BufferMapper mapper(*device, area, kBegin, directory);
  write_words(*memory, {data + 8, size - 8});
  if (const auto named = directory.offered_by_peer(kKey)) {
    require(named->end == 1 && named->index < SharedBufferId::kBuffers, "it is one of the other end's");
    look_up(directory, mapper, *named);
    require(directory.accept(kKey, *named), "what is named can be accepted");
  }
  if (const auto buffer = SharedBufferId::parse(code)) look_up(directory, mapper, *buffer);
  return 0;
}
