#include "kernels/cpu/matmul.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul_loops.hpp"
#include "kernels/cpu/matmul_onednn.hpp"
#include "kernels/cpu/matmul_scratch.hpp"

namespace tenax::kernels {
namespace {

// oneDNN blocks badly for some extents and layouts. Pieces of these sizes, measured on one core of Zen 5
// (tests/bench/matmul_bench), cost it nothing elsewhere; in brackets what they gain.
constexpr std::int64_t kUncut = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kVocabulary = 4096, kVocabularyPiece = 2048;  // the head's products [2 to 40 %]
constexpr std::int64_t kTransposedRows = 384;                        // weight gradients [5 to 25 %]
constexpr std::int64_t kPlainColumnsFp32 = 512;                      // forward, fp32 [0 to 15 %]
constexpr std::int64_t kPlainRowsBf16 = 256;                         // forward, bf16 [0 to 9 %]
constexpr std::int64_t kRowsOfTeam = 128;  // so that there is something for everybody

// The same size for all pieces but the last, of whole vectors.
std::int64_t piece_of(std::int64_t extent, std::int64_t longest) {
  if (extent <= longest) return extent;
  const std::int64_t pieces = (extent + longest - 1) / longest;
  return ((extent + pieces - 1) / pieces + 31) / 32 * 32;
}

template <class Body>
void for_each_piece(std::int64_t extent, std::int64_t longest, const Body& body) {
  const std::int64_t piece = piece_of(extent, longest);
  for (std::int64_t begin = 0; begin < extent; begin += piece) body(begin, std::min(piece, extent - begin));
}

// The operand as the product sees it: a transposed one is stored with its extents swapped.
MatrixView view_of(const Tensor& tensor, bool transposed) {
  const std::int64_t rows = tensor.rows(), columns = tensor.columns();
  return {tensor.data, tensor.dtype, transposed ? columns : rows, transposed ? rows : columns,
          columns,     transposed};
}

const void* offset(const void* data, std::int64_t elements, DType dtype) {
  return data ? static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(bytes_of(dtype))
              : nullptr;
}

// oneDNN divides by the inner extent.
void sum_of_nothing(const MatrixView& c, bool accumulate, [[maybe_unused]] const void* bias) {
  assert(!bias && "nothing has a bias whose input has no columns");
  if (accumulate) return;
  for (std::int64_t row = 0; row < c.rows; ++row)
    std::memset(c.rows_part(row, 1).data, 0, static_cast<std::size_t>(c.columns) * bytes_of(c.dtype));
}

}  // namespace

MatrixView MatrixView::rows_part(std::int64_t begin, std::int64_t count) const {
  assert(begin >= 0 && begin + count <= rows);
  MatrixView part = *this;
  part.data = const_cast<void*>(offset(data, transposed ? begin : begin * row_stride, dtype));
  part.rows = count;
  return part;
}

MatrixView MatrixView::columns_part(std::int64_t begin, std::int64_t count) const {
  assert(begin >= 0 && begin + count <= columns);
  MatrixView part = *this;
  part.data = const_cast<void*>(offset(data, transposed ? begin * row_stride : begin, dtype));
  part.columns = count;
  return part;
}

/// What a member of the team multiplies with.
class CpuMatmul::Worker {
 public:
  void product(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
               const void* bias);

 private:
  void product_in_fp32(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                       const void* bias);

  OneDnnProducts onednn_;
  bool has_bf16_ = OneDnnProducts::has_bf16();
  ScratchArray<float> a_, b_, c_;  // bf16 operands in fp32, where there is no bf16 product
};

struct CpuMatmul::Library {
  explicit Library(ThreadTeam* shared)
      : team(shared ? *shared : alone), workers(static_cast<std::size_t>(team.size())) {}

  ThreadTeam alone{1};
  ThreadTeam& team;
  std::vector<Worker> workers;  // of the team's members
  ScratchArray<float> sums;     // of pieces of the inner index, before they are rounded to bf16

  static MatrixView dense(ScratchArray<float>& array, std::int64_t rows, std::int64_t columns) {
    array.reserve(rows * columns);
    return {array.data(), DType::f32, rows, columns, columns, false};
  }
};

CpuMatmul::CpuMatmul(ThreadTeam* team) : library_(std::make_unique<Library>(team)) {}
CpuMatmul::~CpuMatmul() = default;

void CpuMatmul::run(const MatmulArgs& args) {
  if (is_row_product(args)) return cpu_loops().multiply_row(args, library_->team);
  const MatrixView a = view_of(args.a, args.transpose_a), b = view_of(args.b, args.transpose_b);
  const MatrixView c = view_of(args.c, false);
  if (a.columns > kVocabulary)
    cut_inner(a, b, c, args.accumulate, args.bias.data);
  else
    for_each_piece(c.columns, c.columns > kVocabulary ? kVocabularyPiece : kUncut,
                   [&](std::int64_t begin, std::int64_t count) {
                     cut_outer(a, b.columns_part(begin, count), c.columns_part(begin, count), args.accumulate,
                               offset(args.bias.data, begin, a.dtype));
                   });
}

// Pieces of the inner index add up in c, or in fp32 beside it where c is narrower.
void CpuMatmul::cut_inner(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                          const void* bias) {
  const bool beside = c.dtype == DType::bf16;
  const MatrixView sums = beside ? Library::dense(library_->sums, c.rows, c.columns) : c;
  if (beside && accumulate) cpu_loops().convert_to_fp32(c, sums);
  for_each_piece(a.columns, kVocabularyPiece, [&](std::int64_t begin, std::int64_t count) {
    cut_outer(a.columns_part(begin, count), b.rows_part(begin, count), sums, accumulate || begin > 0,
              begin == 0 ? bias : nullptr);
  });
  if (beside) cpu_loops().round_to_bf16(sums, c);
}

void CpuMatmul::cut_outer(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                          const void* bias) {
  const bool plain = !a.transposed && !b.transposed;
  const std::int64_t rows = a.transposed                      ? kTransposedRows
                            : plain && a.dtype == DType::bf16 ? kPlainRowsBf16
                                                              : kUncut;
  const std::int64_t columns = plain && a.dtype == DType::f32 ? kPlainColumnsFp32 : kUncut;
  const std::int64_t row_piece =
      piece_of(c.rows, library_->team.size() == 1 ? rows : std::min(rows, kRowsOfTeam));
  const std::int64_t column_piece = piece_of(c.columns, columns);
  if (c.rows == 0 || c.columns == 0) return;
  const std::int64_t down = (c.rows + row_piece - 1) / row_piece,
                     across = (c.columns + column_piece - 1) / column_piece;
  library_->team.run(down * across, library_->team.size(), [&](std::int64_t item, int member) {
    const std::int64_t row = item / across * row_piece, column = item % across * column_piece;
    const std::int64_t row_count = std::min(row_piece, c.rows - row),
                       column_count = std::min(column_piece, c.columns - column);
    library_->workers[static_cast<std::size_t>(member)].product(
        a.rows_part(row, row_count), b.columns_part(column, column_count),
        c.rows_part(row, row_count).columns_part(column, column_count), accumulate,
        offset(bias, column, a.dtype));
  });
}

void CpuMatmul::product(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                        const void* bias) {
  library_->workers.front().product(a, b, c, accumulate, bias);
}

void CpuMatmul::Worker::product(const MatrixView& a, const MatrixView& b, const MatrixView& c,
                                bool accumulate, const void* bias) {
  assert(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns && a.dtype == b.dtype &&
         !c.transposed);
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns == 0) return sum_of_nothing(c, accumulate, bias);
  if (a.dtype == DType::f64)
    cpu_loops().multiply_fp64(a, b, c, accumulate, static_cast<const double*>(bias));
  else if (a.dtype == DType::bf16 && !has_bf16_)
    product_in_fp32(a, b, c, accumulate, bias);
  else
    onednn_.run(a, b, c, accumulate, bias);
}

// bf16 on processors without the instructions: slow, but the same numbers.
void CpuMatmul::Worker::product_in_fp32(const MatrixView& a, const MatrixView& b, const MatrixView& c,
                                        bool accumulate, const void* bias) {
  const MatrixView wide_a = Library::dense(a_, a.rows, a.columns);
  const MatrixView wide_b = Library::dense(b_, b.rows + 1, b.columns).rows_part(0, b.rows);
  const MatrixView wide_c = c.dtype == DType::f32 ? c : Library::dense(c_, c.rows, c.columns);
  const MatrixView wide_bias{static_cast<float*>(wide_b.data) + b.rows * b.columns, DType::f32, 1, b.columns,
                             b.columns};
  cpu_loops().convert_to_fp32(a, wide_a);
  cpu_loops().convert_to_fp32(b, wide_b);
  if (bias)
    cpu_loops().convert_to_fp32({const_cast<void*>(bias), DType::bf16, 1, b.columns, b.columns}, wide_bias);
  if (accumulate && c.dtype == DType::bf16) cpu_loops().convert_to_fp32(c, wide_c);
  onednn_.run(wide_a, wide_b, wide_c, accumulate, bias ? wide_bias.data : nullptr);
  if (c.dtype == DType::bf16) cpu_loops().round_to_bf16(wide_c, c);
}

}  // namespace tenax::kernels
