// RecorderFile: the shared memory of a rank's flight recorder, as both its writer and a reader in another process see it.
//
// All of it is atomic words of fixed places: whoever maps the file reads it at any time, also while the writer is
// stopped. A slot whose number changes while it is read is torn, and left out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "resilience/blame/hang_dump.hpp"

namespace tenax::resilience {

/// An operation, of one cache line. Its ticket t counts a rank's operations from 0; it lies in slot t mod kSlots.
struct alignas(64) RecorderSlot {
  std::atomic<std::uint64_t> version{0};  ///< 2 t + 2; odd while it is written
  std::atomic<std::int64_t> number{0}, bytes{0}, step{0};
  std::atomic<std::int64_t> started_ns{0}, finished_ns{0};  ///< steady clock; finished_ns 0: not
  std::atomic<std::int32_t> channel{-1};
  std::atomic<std::uint32_t> looks{0};  ///< how often somebody looked whether it has ended
  std::atomic<std::uint8_t> kind{0}, stands{0};
  std::array<std::atomic<char>, 6> label{};
};
static_assert(sizeof(RecorderSlot) == 64);

/// A group, or one direction of a link.
struct alignas(64) RecorderChannel {
  static constexpr std::size_t kNameBytes = 96;
  std::atomic<std::uint32_t> version{0};  ///< 0: free; odd while it is written
  std::atomic<std::uint8_t> kind{0};
  std::atomic<std::int32_t> place{0}, size{0};  ///< this rank's, of so many
  std::atomic<std::int64_t> started{0}, finished{0};
  std::array<std::atomic<char>, kNameBytes> name{};
};

struct RecorderFile {
  static constexpr std::size_t kSlots = 8192, kChannels = 1024, kHostBytes = 64;
  static constexpr std::uint64_t kMagic = 0x3152434552584e54;  // "TNXRECR1"

  std::atomic<std::uint64_t> magic{0};  ///< kMagic once the rest is there
  std::atomic<std::int32_t> replica{0}, rank{0};
  std::atomic<std::int64_t> pid{0};
  std::array<std::atomic<char>, kHostBytes> host{};

  alignas(64) std::atomic<std::uint64_t> tickets{0};  ///< operations begun
  std::atomic<std::int64_t> moved_ns{0};              ///< when one last began or ended
  alignas(64) std::atomic<std::int64_t> step{-1}, step_begun_ns{0};
  std::atomic<std::int64_t> steps{0};  ///< begun by this process
  std::atomic<std::int32_t> phase{0};  ///< Recorder::Phase

  std::array<RecorderChannel, kChannels> channels;
  std::array<RecorderSlot, kSlots> slots;
};
static_assert(sizeof(RecorderFile) < (1 << 20));
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// The file, mapped. A reader does not write.
class RecorderMap {
 public:
  /// Makes the file. Throws kernels::Error(rank).
  static RecorderMap create(const std::filesystem::path& file);
  /// One that is there. Throws kernels::Error(rank) where it is none.
  static RecorderMap open(const std::filesystem::path& file);
  RecorderMap(RecorderMap&& other) noexcept;
  RecorderMap& operator=(RecorderMap&&) = delete;
  ~RecorderMap();

  RecorderFile& operator*() const { return *file_; }
  RecorderFile* operator->() const { return file_; }

 private:
  explicit RecorderMap(RecorderFile* file) : file_(file) {}
  RecorderFile* file_;
};

/// "recorder-R": that of a replica's rank.
std::string recorder_name(int rank);
bool is_recorder_name(const std::string& name);

/// Text in atomic letters, cut to what fits; the rest is zero.
void put_text(std::atomic<char>* letters, std::size_t size, const std::string& text);
std::string text_of(const std::atomic<char>* letters, std::size_t size);

}  // namespace tenax::resilience
