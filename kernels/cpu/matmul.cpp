#include "kernels/cpu/matmul.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul_loops.hpp"
#include "kernels/cpu/matmul_onednn.hpp"
#include "kernels/cpu/matmul_scratch.hpp"
#include "kernels/cpu/product_cuts.hpp"
#include "kernels/cpu/product_trial.hpp"

namespace tenax::kernels {
namespace {

// Inner indices that oneDNN blocks badly when there are more of them [the head's products, 2 to 40 %].
constexpr std::int64_t kManyInner = 4096, kInnerPiece = 2048;

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

Product part_of(const Product& whole, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t columns) {
  const std::int64_t down = std::min(rows, whole.c.rows - row),
                     across = std::min(columns, whole.c.columns - column);
  return {whole.a.rows_part(row, down), whole.b.columns_part(column, across),
          whole.c.rows_part(row, down).columns_part(column, across), whole.accumulate,
          offset(whole.bias, column, whole.a.dtype)};
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
  Library(ThreadTeam* shared, ProductCuts* known)
      : team(shared ? *shared : alone), cuts(known), workers(static_cast<std::size_t>(team.size())) {}

  ThreadTeam alone{1};
  ThreadTeam& team;
  ProductCuts* const cuts;
  std::vector<Worker> workers;  // of the team's members
  ScratchArray<float> sums;     // of pieces of the inner index, before they are rounded to bf16

  static MatrixView dense(ScratchArray<float>& array, std::int64_t rows, std::int64_t columns) {
    array.reserve(rows * columns);
    return {array.data(), DType::f32, rows, columns, columns, false};
  }
};

CpuMatmul::CpuMatmul(ThreadTeam* team, ProductCuts* cuts) : library_(std::make_unique<Library>(team, cuts)) {}
CpuMatmul::~CpuMatmul() = default;

void CpuMatmul::run(const MatmulArgs& args) {
  if (is_row_product(args)) return cpu_loops().multiply_row(args, library_->team);
  const Product product{view_of(args.a, args.transpose_a), view_of(args.b, args.transpose_b),
                        view_of(args.c, false), args.accumulate, args.bias.data};
  if (product.a.columns > kManyInner)
    cut_inner(product);
  else
    cut_outer(product);
}

// Pieces of the inner index add up in c, or in fp32 beside it where c is narrower.
void CpuMatmul::cut_inner(const Product& whole) {
  const MatrixView& c = whole.c;
  const bool beside = c.dtype == DType::bf16;
  const MatrixView sums = beside ? Library::dense(library_->sums, c.rows, c.columns) : c;
  if (beside && whole.accumulate) cpu_loops().convert_to_fp32(c, sums);
  for_each_piece(whole.a.columns, kInnerPiece, [&](std::int64_t begin, std::int64_t count) {
    cut_outer({whole.a.columns_part(begin, count), whole.b.rows_part(begin, count), sums,
               whole.accumulate || begin > 0, begin == 0 ? whole.bias : nullptr});
  });
  if (beside) cpu_loops().round_to_bf16(sums, c);
}

void CpuMatmul::cut_outer(const Product& product) {
  if (product.c.rows == 0 || product.c.columns == 0) return;
  run_pieces(product, choose_cut(product));
}

ProductCut CpuMatmul::choose_cut(const Product& product) {
  if (!library_->cuts || !is_worth_trial(product)) return usual_cut(product);
  const ProductShape shape = shape_of(product, library_->team.size());
  if (const auto known = library_->cuts->find(shape)) return *known == kUsualCut ? shape.usual : *known;
  const ProductCut best = try_cuts(
      product, shape.usual, [this](const Product& part, const ProductCut& cut) { run_pieces(part, cut); });
  library_->cuts->choose(shape, best == shape.usual ? kUsualCut : best);
  return best;
}

void CpuMatmul::run_pieces(const Product& whole, const ProductCut& cut) {
  const std::int64_t rows = piece_of(whole.c.rows, cut.rows),
                     columns = piece_of(whole.c.columns, cut.columns);
  const std::int64_t down = (whole.c.rows + rows - 1) / rows,
                     across = (whole.c.columns + columns - 1) / columns;
  library_->team.run(down * across, library_->team.size(), [&](std::int64_t item, int member) {
    const Product piece = part_of(whole, item / across * rows, item % across * columns, rows, columns);
    library_->workers[static_cast<std::size_t>(member)].product(piece.a, piece.b, piece.c, piece.accumulate,
                                                                piece.bias);
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
