#include "io/checkpoint/checkpoint_scan.hpp"

#include <algorithm>
#include <cfloat>
#include <functional>
#include <span>

#include "io/checksum.hpp"
#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

using Visit = std::function<void(std::span<const float> numbers, std::int64_t first_index)>;

class CheckpointScan {
 public:
  explicit CheckpointScan(const fs::path& path) : path_(path), file_(PosixFile::open_to_read(path)) {}

  void read(const StoredParameter& parameter, const StoredPart& part, const Visit& visit) const {
    constexpr std::int64_t kPiece = 1 << 18;
    const std::int64_t elements = parameter.elements;
    std::vector<float> piece(static_cast<std::size_t>(std::min(elements, kPiece)));
    for (std::int64_t at = 0; at < elements; at += kPiece) {
      const auto numbers = std::span(piece).first(static_cast<std::size_t>(std::min(elements - at, kPiece)));
      file_.read(std::as_writable_bytes(numbers),
                 part.offset + static_cast<std::int64_t>(sizeof(float)) * at);
      visit(numbers, at);
    }
  }

  /// Tells `also` of the numbers, which may be damaged until this returns.
  void verify(const StoredParameter& parameter, const StoredPart& part, const Visit& also) const {
    std::uint64_t sum = 0;
    read(parameter, part, [&](std::span<const float> numbers, std::int64_t first_index) {
      sum += checksum_of_words(numbers.data(), static_cast<std::int64_t>(numbers.size()), first_index);
      also(numbers, first_index);
    });
    if (sum == part.checksum) return;
    throw kernels::Error(kernels::Scope::rank, path_.string() + " is damaged: the checksum of " + part.group +
                                                   "/" + parameter.name + " is " + checksum_text(sum) +
                                                   ", but should be " + checksum_text(part.checksum));
  }

  DatasetOutliers search(const StoredParameter& parameter, const StoredPart& part) const {
    SizeCensus census;
    verify(parameter, part, [&](auto numbers, std::int64_t) { census.add(numbers); });
    DatasetOutliers found{
        .dataset = part.group + "/" + parameter.name, .median = census.median(), .stretches = {}};
    const float bound = std::clamp(outlier_factor(part.group) * found.median, FLT_MIN, FLT_MAX);
    if (census.largest() <= bound) return found;
    OutlierSearch search(bound);
    read(parameter, part, [&](auto numbers, std::int64_t first_index) { search.add(numbers, first_index); });
    found.stretches = search.stretches();
    return found;
  }

 private:
  fs::path path_;
  PosixFile file_;
};

}  // namespace

void verify_tensors(const fs::path& path, const CheckpointInfo& info) {
  const CheckpointScan scan(path);
  for (const StoredParameter& parameter : info.parameters)
    for (const StoredPart& part : parameter.parts) scan.verify(parameter, part, [](auto, std::int64_t) {});
}

std::vector<DatasetOutliers> verify_and_search(const fs::path& path, const CheckpointInfo& info) {
  const CheckpointScan scan(path);
  std::vector<DatasetOutliers> all;
  for (const StoredParameter& parameter : info.parameters)
    for (const StoredPart& part : parameter.parts)
      if (DatasetOutliers found = scan.search(parameter, part); !found.stretches.empty())
        all.push_back(std::move(found));
  return all;
}

}  // namespace tenax::io
