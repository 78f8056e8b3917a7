#include "resilience/replicas/digest_slices.hpp"

#include <algorithm>

#include "io/checksum.hpp"

namespace tenax::resilience {

DigestSlices::DigestSlices(const std::vector<io::StateRange>& ranges, const Options& options)
    : slices_(options.slices), rank_(static_cast<std::uint64_t>(options.rank)) {
  for (const io::StateRange& range : ranges) {
    Piece piece{.begin = elements_,
                .count = range.count,
                .place = static_cast<std::uint64_t>(options.place_of(range.name)),
                .parts = {}};
    for (const io::StatePart& part : range.parts) piece.parts.push_back(part.data);
    elements_ += range.count;
    pieces_.push_back(std::move(piece));
  }
}

// A word's number says its rank and part as well: equal words of two ranks do not cancel out.
StateDigest DigestSlices::of_step(std::int64_t step) const {
  constexpr int kElementBits = 40;
  const std::int64_t slice = step % slices_;
  const std::int64_t begin = elements_ * slice / slices_, end = elements_ * (slice + 1) / slices_;
  StateDigest digest;
  for (const Piece& piece : pieces_) {
    const std::int64_t from = std::max(begin, piece.begin), to = std::min(end, piece.begin + piece.count);
    if (from >= to) continue;
    for (std::size_t part = 0; part < piece.parts.size(); ++part) {
      const std::uint64_t first = (rank_ * StateDigest::kParts + part) << kElementBits;
      digest.parts[part].add(io::checksum_of_words(piece.parts[part] + (from - piece.begin), to - from,
                                                   static_cast<std::int64_t>(first) + from),
                             piece.place);
    }
  }
  return digest;
}

}  // namespace tenax::resilience
