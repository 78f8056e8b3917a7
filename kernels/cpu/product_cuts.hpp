// ProductCuts: into which pieces this machine cuts matrix products, as it has found out to be fastest. It changes times alone:
// what is chosen writes the bits of what would be taken without it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/cut_file.hpp"
#include "kernels/cpu/product_cut.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// What a product is, but for the numbers in it.
struct ProductShape {
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::int64_t a_stride = 0, b_stride = 0,
               c_stride = 0;  ///< from row to row as stored: oneDNN computes dense ones otherwise
  bool a_transposed = false, b_transposed = false, accumulate = false, has_bias = false;
  DType input = DType::f32, output = DType::f32;
  int threads = 1;
  ProductCut usual;  ///< whose bits a choice has

  auto operator<=>(const ProductShape&) const = default;
  /// "fp32 to fp32 1024x768x1536 by 1536x1536x768 nt add bias, 2 threads, beside 256x0": of one line of the file.
  std::string text() const;
};

/// Of the streams of one device. Thread rule: any thread.
class ProductCuts {
 public:
  /// Begins with what `file` says of `machine` (CutFile), and adds to it what is chosen; an empty path: nothing is kept.
  ProductCuts(const std::filesystem::path& file, const std::string& machine);

  /// What was chosen before, maybe the usual cut; nothing for a shape that was not tried.
  std::optional<ProductCut> find(const ProductShape& shape);
  void choose(const ProductShape& shape, const ProductCut& cut);
  /// Why nothing is kept, for people; empty otherwise.
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  CutFile file_;
  const std::map<std::string, ProductCut> kept_;  // by earlier processes, of a shape's text
  std::map<ProductShape, ProductCut> chosen_;     // here, or among those and asked for
};

/// What of this machine the choices depend on: processor, set of loops, oneDNN, and whether that multiplies bf16.
std::string machine_of_cuts();

}  // namespace tenax::kernels
