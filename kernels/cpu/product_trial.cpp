#include "kernels/cpu/product_trial.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/cpu/cut_trial.hpp"
#include "kernels/deadline.hpp"

namespace tenax::kernels {
namespace {

// Pieces that a team shares. Their sizes depend on the product alone: oneDNN chooses other implementations for other extents,
// whose sums have another order. oneDNN also blocks badly for some extents and layouts. Pieces of these sizes, measured on one
// core of Zen 5 and Zen 4 (tests/bench/matmul_bench), cost it at most some 5 % elsewhere; in brackets what they gain.
constexpr std::int64_t kVocabulary = 4096, kVocabularyPiece = 2048;  // the head's products [2 to 40 %]
constexpr std::int64_t kTransposedRows = 384;                        // weight gradients [5 to 25 %]
constexpr std::int64_t kPlainColumnsFp32 = 512;                      // forward, fp32 [0 to 15 %]
constexpr std::int64_t kTransposedColumns = 1536;                    // the same [-2 to 5 %]
constexpr std::int64_t kRows = 256;                                  // all others [-5 to 9 %]
constexpr std::int64_t kLeastPieceRows = 64;                         // where rows are few

std::int64_t pieces_in(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Pieces of rows, `across` of them beside each other: an even number, and two at least where rows suffice.
std::int64_t rows_of_piece(std::int64_t rows, std::int64_t longest, std::int64_t across) {
  while (across == 1 && rows < 2 * longest && longest >= 2 * kLeastPieceRows) longest /= 2;
  const std::int64_t pieces = pieces_in(rows, longest);
  return pieces % 2 == 0 || pieces == 1 ? piece_of(rows, longest)
                                        : piece_of(rows, pieces_in(rows, pieces + 1));
}

// Of a trial: enough of a product to tell cuts apart, in at most some 50 ms, and little to restore.
constexpr std::int64_t kLeastMultiplyAdds = std::int64_t{1} << 25, kMostMultiplyAdds = std::int64_t{5} << 29;
constexpr std::int64_t kMostExtent = 4096, kLeastRows = 512, kMostBytes = 12 << 20;
constexpr double kSlow_s = 0.2;  // others have the processor, or it is an emulated one

Product part_to_try(const Product& whole) {
  const std::int64_t columns = std::min(whole.c.columns, kMostExtent),
                     row_bytes = columns * static_cast<std::int64_t>(bytes_of(whole.c.dtype));
  const std::int64_t rows =
      std::min({kMostExtent, kMostMultiplyAdds / (columns * whole.a.columns), kMostBytes / row_bytes});
  return part_of(whole, 0, 0, std::max(rows, kLeastRows), columns);
}

bool come_to_same(const ProductCut& one, const ProductCut& other, const MatrixView& c) {
  return piece_of(c.rows, one.rows) == piece_of(c.rows, other.rows) &&
         piece_of(c.columns, one.columns) == piece_of(c.columns, other.columns);
}

// What leaves whole what the part cuts is another product there, and oneDNN may compute it otherwise.
bool is_shown_by(const Product& part, const ProductCut& cut, const Product& whole) {
  return (cut.rows > 0 || part.c.rows == whole.c.rows) &&
         (cut.columns > 0 || part.c.columns == whole.c.columns);
}

// oneDNN without AVX-512 reads small pieces of b where they lie, a few cache lines of each row. Of rows that are an even number
// of lines apart, those lines meet in a part of a cache's sets.
bool may_gain_by_packing(const MatrixView& b) {
  constexpr std::int64_t kTwoLines = 128 / sizeof(float);
  return b.dtype == DType::f32 && !b.transposed && b.row_stride % kTwoLines == 0 &&
         b.rows * b.columns <= kMostCopied;
}

/// The usual one first. Of those that come to the same pieces of the same memory, one.
std::vector<ProductCut> different_cuts(const ProductCut& usual, const Product& part, const Product& whole) {
  std::vector<ProductCut> cuts = {usual};
  for (const ProductCut& cut : kTriedCuts) {
    const auto is_like = [&](const ProductCut& other) { return come_to_same(cut, other, whole.c); };
    if (is_shown_by(part, cut, whole) && std::none_of(cuts.begin(), cuts.end(), is_like)) cuts.push_back(cut);
  }
  if (may_gain_by_packing(whole.b)) cuts.push_back({usual.rows, usual.columns, true});
  return cuts;
}

std::string_view bytes_of_row(const MatrixView& c, std::int64_t row) {
  return {static_cast<const char*>(c.rows_part(row, 1).data),
          static_cast<std::size_t>(c.columns) * bytes_of(c.dtype)};
}

std::uint64_t checksum_of(const MatrixView& c) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
  std::uint64_t sum = 0;
  for (std::int64_t row = 0; row < c.rows; ++row)
    sum = sum * kOdd + std::hash<std::string_view>{}(bytes_of_row(c, row));
  return sum;
}

std::string copy_of(const MatrixView& c) {
  std::string copy;
  copy.reserve(static_cast<std::size_t>(c.rows) * bytes_of_row(c, 0).size());
  for (std::int64_t row = 0; row < c.rows; ++row) copy += bytes_of_row(c, row);
  return copy;
}

void restore(const std::string& copy, const MatrixView& c) {
  const std::size_t bytes = bytes_of_row(c, 0).size();
  for (std::int64_t row = 0; row < c.rows; ++row)
    std::memcpy(c.rows_part(row, 1).data, copy.data() + static_cast<std::size_t>(row) * bytes, bytes);
}

/// Equal bits of the part do not show it: pieces of the whole have other extents, and oneDNN may sum those in another order.
bool come_to_same_bits(const Product& whole, const ProductCut& usual, const ProductCut& other,
                       const std::function<void(const Product&, const ProductCut&)>& run) {
  const std::string before = whole.accumulate ? copy_of(whole.c) : std::string();
  const auto bits_by = [&](const ProductCut& cut) {
    run(whole, cut);
    const std::uint64_t sum = checksum_of(whole.c);
    if (whole.accumulate) restore(before, whole.c);
    return sum;
  };
  return bits_by(usual) == bits_by(other);
}

}  // namespace

ProductCut usual_cut(const Product& product) {
  const bool is_plain = !product.a.transposed && !product.b.transposed;
  ProductCut cut;
  if (product.c.columns > kVocabulary) cut.columns = kVocabularyPiece;
  if (is_plain && product.a.dtype == DType::f32) cut.columns = kPlainColumnsFp32;
  if (product.a.transposed) cut.columns = kTransposedColumns;
  const std::int64_t across = pieces_in(product.c.columns, piece_of(product.c.columns, cut.columns));
  cut.rows = rows_of_piece(product.c.rows, product.a.transposed ? kTransposedRows : kRows, across);
  return cut;
}

ProductShape shape_of(const Product& product, int threads) {
  return {.rows = product.c.rows,
          .columns = product.c.columns,
          .inner = product.a.columns,
          .a_stride = product.a.row_stride,
          .b_stride = product.b.row_stride,
          .c_stride = product.c.row_stride,
          .a_transposed = product.a.transposed,
          .b_transposed = product.b.transposed,
          .accumulate = product.accumulate,
          .has_bias = product.bias.data != nullptr,
          .input = product.a.dtype,
          .output = product.c.dtype,
          .threads = threads,
          .usual = usual_cut(product)};
}

bool is_worth_trial(const Product& product) {
  return product.a.dtype != DType::f64 &&
         product.c.rows * product.c.columns * product.a.columns >= kLeastMultiplyAdds;
}

ProductCut try_cuts(const Product& product, const ProductCut& usual,
                    const std::function<void(const Product&, const ProductCut&)>& run) {
  const Product part = part_to_try(product);
  if (!is_shown_by(part, usual, product)) return usual;
  const std::string before = part.accumulate ? copy_of(part.c) : std::string();
  const CutTrial trial{.run = [&](const ProductCut& cut) { run(part, cut); },
                       .restore =
                           [&] {
                             if (part.accumulate) restore(before, part.c);
                           },
                       .checksum = [&] { return checksum_of(part.c); },
                       .now_s = steady_now_s};
  std::vector<ProductCut> cuts = different_cuts(usual, part, product);
  for (;;) {
    const ProductCut best = fastest_cut(cuts, trial, kSlow_s);
    trial.restore();
    if (best == usual || come_to_same_bits(product, usual, best, run)) return best;
    std::erase(cuts, best);
  }
}

}  // namespace tenax::kernels
