#include "kernels/cpu/matmul.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/fp32_matrix.hpp"
#include "kernels/cpu/matmul_loops.hpp"
#include "kernels/cpu/matmul_onednn.hpp"
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

MatrixView view_of_bias(const void* bias, DType dtype, std::int64_t columns) {
  return {const_cast<void*>(bias), dtype, 1, bias ? columns : 0, columns};
}

void* offset(void* data, std::int64_t elements, DType dtype) {
  return static_cast<std::byte*>(data) + elements * static_cast<std::int64_t>(bytes_of(dtype));
}

// oneDNN divides by the inner extent.
void sum_of_nothing(const Product& product) {
  assert(!product.bias.data && "nothing has a bias whose input has no columns");
  if (product.accumulate) return;
  const MatrixView& c = product.c;
  for (std::int64_t row = 0; row < c.rows; ++row)
    std::memset(c.rows_part(row, 1).data, 0, static_cast<std::size_t>(c.columns) * bytes_of(c.dtype));
}

}  // namespace

MatrixView MatrixView::rows_part(std::int64_t begin, std::int64_t count) const {
  assert(begin >= 0 && begin + count <= rows);
  MatrixView part = *this;
  part.data = offset(data, transposed ? begin : begin * row_stride, dtype);
  part.rows = count;
  return part;
}

MatrixView MatrixView::columns_part(std::int64_t begin, std::int64_t count) const {
  assert(begin >= 0 && begin + count <= columns);
  MatrixView part = *this;
  part.data = offset(data, transposed ? begin * row_stride : begin, dtype);
  part.columns = count;
  return part;
}

Product part_of(const Product& whole, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t columns) {
  const std::int64_t down = std::min(rows, whole.c.rows - row),
                     across = std::min(columns, whole.c.columns - column);
  return {whole.a.rows_part(row, down), whole.b.columns_part(column, across),
          whole.c.rows_part(row, down).columns_part(column, across), whole.accumulate,
          whole.bias.data ? whole.bias.columns_part(column, across) : MatrixView{}};
}

/// What a member of the team multiplies with.
class CpuMatmul::Worker {
 public:
  void compute(const Product& product);

 private:
  void compute_in_fp32(Product product);

  OneDnnProducts onednn_;
  Fp32Matrix a_, b_, c_, bias_;  // where there is no bf16 product
};

struct CpuMatmul::Library {
  Library(ThreadTeam* shared, ProductCuts* known)
      : team(shared ? *shared : alone), cuts(known), workers(static_cast<std::size_t>(team.size())) {}

  ThreadTeam alone{1};
  ThreadTeam& team;
  ProductCuts* const cuts;
  std::vector<Worker> workers;  // of the team's members
  Fp32Matrix sums;              // of pieces of the inner index, before they are rounded to bf16
  Fp32Matrix a, b, bias;        // what several pieces read
};

CpuMatmul::CpuMatmul(ThreadTeam* team, ProductCuts* cuts) : library_(std::make_unique<Library>(team, cuts)) {}
CpuMatmul::~CpuMatmul() = default;

void CpuMatmul::run(const MatmulArgs& args) {
  if (is_row_product(args)) return cpu_loops().multiply_row(args, library_->team);
  const Product product{view_of(args.a, args.transpose_a), view_of(args.b, args.transpose_b),
                        view_of(args.c, false), args.accumulate,
                        view_of_bias(args.bias.data, args.a.dtype, args.c.columns())};
  if (product.a.columns > kManyInner)
    cut_inner(product);
  else
    cut_outer(product);
}

// Pieces of the inner index add up in c, or in fp32 beside it where c is narrower.
void CpuMatmul::cut_inner(const Product& whole) {
  const MatrixView& c = whole.c;
  const bool beside = c.dtype == DType::bf16;
  const MatrixView sums = beside ? library_->sums.dense(c.rows, c.columns) : c;
  if (beside && whole.accumulate) cpu_loops().convert_to_fp32(c, sums);
  for_each_piece(whole.a.columns, kInnerPiece, [&](std::int64_t begin, std::int64_t count) {
    cut_outer({whole.a.columns_part(begin, count), whole.b.rows_part(begin, count), sums,
               whole.accumulate || begin > 0, begin == 0 ? whole.bias : MatrixView{}});
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
  if (const auto known = library_->cuts->find(shape)) return *known;
  const ProductCut best = try_cuts(
      product, shape.usual, [this](const Product& part, const ProductCut& cut) { run_pieces(part, cut); });
  library_->cuts->choose(shape, best);
  return best;
}

void CpuMatmul::run_pieces(const Product& whole, const ProductCut& cut) {
  const std::int64_t rows = piece_of(whole.c.rows, cut.rows),
                     columns = piece_of(whole.c.columns, cut.columns);
  const std::int64_t down = (whole.c.rows + rows - 1) / rows,
                     across = (whole.c.columns + columns - 1) / columns;
  Product product = whole;
  if (product.a.dtype == DType::bf16 && !OneDnnProducts::has_bf16())
    product = widen_what_pieces_share(whole, down, across);
  else if (cut.packs_b && whole.b.dtype == DType::f32)
    product.b = library_->b.copy(whole.b, &library_->team);
  library_->team.run(down * across, library_->team.size(), [&](std::int64_t item, int member) {
    library_->workers[static_cast<std::size_t>(member)].compute(
        part_of(product, item / across * rows, item % across * columns, rows, columns));
  });
}

// What one piece alone reads is widened by its worker, into the worker's cache; so is what would take much memory.
Product CpuMatmul::widen_what_pieces_share(Product product, std::int64_t down, std::int64_t across) {
  const auto is_shared = [](const MatrixView& operand, std::int64_t pieces) {
    return pieces > 1 && operand.rows * operand.columns <= kMostCopied;
  };
  if (is_shared(product.a, across)) product.a = library_->a.copy(product.a, &library_->team);
  if (is_shared(product.b, down)) product.b = library_->b.copy(product.b, &library_->team);
  if (product.bias.data) product.bias = library_->bias.copy(product.bias);
  return product;
}

void CpuMatmul::product(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                        const void* bias) {
  library_->workers.front().compute({a, b, c, accumulate, view_of_bias(bias, a.dtype, c.columns)});
}

void CpuMatmul::Worker::compute(const Product& product) {
  const MatrixView &a = product.a, &b = product.b, &c = product.c;
  assert(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns && !c.transposed);
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns == 0) return sum_of_nothing(product);
  if (a.dtype == DType::f64)
    cpu_loops().multiply_fp64(a, b, c, product.accumulate, static_cast<const double*>(product.bias.data));
  else if (OneDnnProducts::has_bf16() ||
           (a.dtype == DType::f32 && b.dtype == DType::f32 && c.dtype == DType::f32))
    onednn_.run(a, b, c, product.accumulate, product.bias.data);
  else
    compute_in_fp32(product);
}

// bf16 on processors without the instructions: the same numbers, rounded once.
void CpuMatmul::Worker::compute_in_fp32(Product product) {
  if (product.a.dtype == DType::bf16) product.a = a_.copy(product.a);
  if (product.b.dtype == DType::bf16) product.b = b_.copy(product.b);
  if (product.bias.data && product.bias.dtype == DType::bf16) product.bias = bias_.copy(product.bias);
  const MatrixView c = product.c;
  if (c.dtype == DType::bf16) product.c = c_.dense(c.rows, c.columns);
  if (c.dtype == DType::bf16 && product.accumulate) cpu_loops().convert_to_fp32(c, product.c);
  onednn_.run(product.a, product.b, product.c, product.accumulate, product.bias.data);
  if (c.dtype == DType::bf16) cpu_loops().round_to_bf16(product.c, c);
}

}  // namespace tenax::kernels
