#include "comm/buffers/buffer_mapper.hpp"

#include "comm/host_staging.hpp"

namespace tenax::comm {
namespace {

/// Of buffers' sizes: less than the largest page, which would take memory for nothing where pages are small.
constexpr std::size_t kSizeUnit = 4096;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

bool are_pages_within(std::size_t offset, std::size_t bytes, std::size_t begin, std::size_t end) {
  return offset % SharedMemoryArea::kPage == 0 && bytes > 0 && offset >= begin && offset <= end &&
         bytes <= end - offset;
}

}  // namespace

BufferMapper::BufferMapper(kernels::Device& device, std::shared_ptr<SharedMemoryArea> area, std::size_t begin,
                           BufferDirectory& directory)
    : device_(device),
      area_(std::move(area)),
      directory_(directory),
      begin_(begin),
      half_((SharedMemoryArea::kBytes - begin) / 2 / SharedMemoryArea::kPage * SharedMemoryArea::kPage),
      next_offset_(begin + static_cast<std::size_t>(directory.this_end()) * half_),
      end_offset_(next_offset_ + half_) {}

std::optional<SharedBufferId> BufferMapper::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto free = take_best_fit(free_, bytes, [&](std::size_t index) { return made_[index]; });
    if (free) return SharedBufferId{directory_.this_end(), *free};
  }
  return make(rounded_up(bytes, kSizeUnit));
}

std::optional<SharedBufferId> BufferMapper::make(std::size_t bytes) {
  if (is_full_ || made_.size() == SharedBufferId::kBuffers || bytes > end_offset_ - next_offset_)
    return std::nullopt;
  const SharedBufferId buffer{directory_.this_end(), made_.size()};
  BufferDirectory::Row& row = directory_.row(buffer);
  row.offset.store(next_offset_);
  row.bytes.store(bytes);
  if (!area_->reserve(next_offset_, bytes) || !register_for_device(buffer)) {
    is_full_ = true;
    return std::nullopt;
  }
  made_.push_back(bytes);
  next_offset_ += rounded_up(bytes, SharedMemoryArea::kPage);
  return buffer;
}

void BufferMapper::give_back(SharedBufferId buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer.index);
}

std::shared_ptr<std::byte> BufferMapper::map(SharedBufferId buffer) {
  const std::lock_guard lock(mutex_);
  Mapped& mapped = mapped_[buffer.code()];
  if (mapped.memory) return mapped.memory;
  const BufferDirectory::Row& row = directory_.row(buffer);
  const std::size_t offset = row.offset.load(), bytes = row.bytes.load();
  const std::size_t first = begin_ + static_cast<std::size_t>(buffer.end) * half_;
  if (!are_pages_within(offset, bytes, first, first + half_)) return nullptr;
  mapped.memory = area_->map(offset, bytes);
  mapped.bytes = bytes;
  return mapped.memory;
}

std::size_t BufferMapper::bytes(SharedBufferId buffer) {
  const std::lock_guard lock(mutex_);
  return mapped_.at(buffer.code()).bytes;
}

std::shared_ptr<std::byte> BufferMapper::register_for_device(SharedBufferId buffer) {
  const std::shared_ptr<std::byte> memory = map(buffer);
  if (!memory) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (mapped_[buffer.code()].registration) return memory;
  }
  auto registration = device_.register_host(memory, bytes(buffer));
  if (!registration) return nullptr;
  const std::lock_guard lock(mutex_);
  mapped_[buffer.code()].registration = std::move(registration);
  return memory;
}

}  // namespace tenax::comm
