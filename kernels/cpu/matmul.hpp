// Matrix products on the CPU: oneDNN for fp32 and bf16, a blocked loop of our own for fp64.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

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

/// Runs products in the calling thread, on that one core unless it is given a team, and keeps what it
/// prepared for each shape. Belongs to one thread at a time.
class CpuMatmul {
 public:
  /// `team` must outlive it; null: nobody helps.
  explicit CpuMatmul(ThreadTeam* team = nullptr);
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
  void cut_inner(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                 const void* bias);
  void cut_outer(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                 const void* bias);

  class Worker;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenax::kernels
