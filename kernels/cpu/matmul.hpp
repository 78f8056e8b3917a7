// Matrix products on the CPU: oneDNN for fp32 and bf16, a blocked loop of our own for fp64.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/product_cut.hpp"
#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

class ProductCuts;

/// A matrix inside somebody else's memory: element (i, j) lies at data[i · row_stride + j], or, when
/// `transposed`, at data[j · row_stride + i]: rows and columns are those of the operand as the
/// product sees it.
struct MatrixView {
  MatrixView rows_part(std::int64_t begin, std::int64_t count) const;
  MatrixView columns_part(std::int64_t begin, std::int64_t count) const;

  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0;
  bool transposed = false;
};

/// Numbers of an operand that is copied for all pieces: 64 MiB.
inline constexpr std::int64_t kMostCopied = std::int64_t{1} << 24;

/// c (+)= a · b (+ bias, [1, c.columns] where there is one). c is never transposed.
struct Product {
  MatrixView a, b, c;
  bool accumulate = false;
  MatrixView bias = {};  ///< a's type, or fp32; no data: none
};

/// The numbers of c that begin at (row, column): `rows` by `columns` of them, or as many as there are.
Product part_of(const Product& whole, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t columns);

/// Runs products in the calling thread, on that one core unless it is given a team, whose size changes no bit.
/// Keeps what it prepared for each shape. Belongs to one thread at a time.
class CpuMatmul {
 public:
  /// Both must outlive it. No team: nobody helps. No cuts: products are cut as usual; with them, the first
  /// product of a shape that is worth it tries how it is cut best (some 0.1 s), and its like are cut so.
  explicit CpuMatmul(ThreadTeam* team = nullptr, ProductCuts* cuts = nullptr);
  ~CpuMatmul();
  CpuMatmul(const CpuMatmul&) = delete;
  CpuMatmul& operator=(const CpuMatmul&) = delete;

  /// See MatmulArgs. Big products are cut so that each piece stays in the cache. Throws Error(rank) when the
  /// library refuses.
  void run(const MatmulArgs& args);

  /// c (+)= a · b (+ bias[c.columns], may be null, a's type) on views, as one piece. c is never transposed.
  void product(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate = false,
               const void* bias = nullptr);

 private:
  void cut_inner(const Product& whole);
  void cut_outer(const Product& product);
  ProductCut choose_cut(const Product& product);
  void run_pieces(const Product& whole, const ProductCut& cut);
  Product widen_what_pieces_share(Product product, std::int64_t down, std::int64_t across);

  class Worker;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenax::kernels
