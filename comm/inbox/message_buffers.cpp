#include "comm/inbox/message_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tenax::comm {
namespace {

constexpr int kEarlyBuffers = 4;  // for messages that come before their receive is posted
constexpr std::size_t kUnknown = std::size_t{1}
                                 << 20;  // bytes of an unexpected message that are taken at once

}  // namespace

MessageBuffers::MessageBuffers(kernels::Device& device, SharedBufferPool* shared, Transport* transport)
    : device_(device), shared_(shared), staging_(std::make_unique<HostStaging>(device, transport)) {}

HostBuffer MessageBuffers::take(Tag tag, std::uint64_t number, std::size_t bytes) {
  HostBuffer buffer;
  if (shared_) buffer = shared_->buffer_for(shared_->incoming(tag, number), bytes);
  if (buffer)
    buffer.copied = device_.create_event();
  else
    buffer = staging_->take(bytes);
  staging_->stock(bytes, kEarlyBuffers);  // others may come without a shared buffer, before they are expected
  return buffer;
}

/// A size that nobody here has named yet is the sender's word alone.
HostBuffer MessageBuffers::read(std::size_t bytes, std::size_t known,
                                const std::function<void(std::span<std::byte>)>& read) {
  known = std::max(known, kUnknown);
  std::vector<std::byte> come;
  while (bytes > known && come.size() < bytes) {
    const std::size_t before = come.size();
    come.resize(std::min(bytes, std::max(known, 2 * before)));
    read(std::span(come).subspan(before));
  }
  HostBuffer buffer = staging_->take(bytes);
  try {
    if (!come.empty())
      std::copy(come.begin(), come.end(), buffer.memory(bytes).begin());
    else if (bytes > 0)
      read(buffer.memory(bytes));
  } catch (...) {
    staging_->give_back(std::move(buffer));
    throw;
  }
  return buffer;
}

void MessageBuffers::give_back(HostBuffer buffer, Tag tag, std::uint64_t number, bool has_arrived) {
  if (!staging_) return;
  if (buffer.shared_id == 0) return staging_->give_back(std::move(buffer));
  release_shared(buffer.shared_id, tag, number, has_arrived);
}

void MessageBuffers::retain_shared(std::uint64_t id, Tag tag, std::uint64_t number) {
  shared_->retain(shared_->incoming(tag, number), SharedBufferId::of_code(id));
}

void MessageBuffers::copy_from_shared(std::uint64_t id, std::span<std::byte> memory) {
  const auto source = shared_->memory(SharedBufferId::of_code(id), memory.size());
  std::memcpy(memory.data(), source.get(), memory.size());
  count_copied(memory.size());
}

void MessageBuffers::release_shared(std::uint64_t id, Tag tag, std::uint64_t number, bool has_arrived) {
  shared_->release_received(shared_->incoming(tag, number), SharedBufferId::of_code(id), has_arrived);
}

}  // namespace tenax::comm
