// MatmulChoice: the algorithm of a product, and its text, by which a later run takes the same.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cuda/matmul_plan.hpp"

namespace tenax::kernels::cuda {

struct MatmulChoice {
  cublasLtMatmulAlgo_t algorithm;
  /// d_gelu: d may be aux's memory. cuBLASLt does not say, so it is tried, repeatedly, beside the search.
  bool aux_in_place = false;
};
/// None: the product is composed of others.
using OptionalMatmulChoice = std::optional<MatmulChoice>;

/// What a choice depends on: the plan, and how its operands are aligned.
std::string text_of(const MatmulPlan& plan, const std::array<std::uint32_t, 5>& alignments);

/// cuBLASLt's algorithms mean the same in every process with the same version of it.
std::string text_of(const OptionalMatmulChoice& choice);
/// Nothing where the text is no choice.
std::optional<OptionalMatmulChoice> matmul_choice_of_text(const std::string& text);

}  // namespace tenax::kernels::cuda
