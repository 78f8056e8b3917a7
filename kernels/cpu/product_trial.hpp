// How products are cut: as usual, or as a trial on the machine that runs has shown.
#pragma once

#include <functional>

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/product_cuts.hpp"

namespace tenax::kernels {

/// What is best on the processors it was measured on, whoever shares the pieces.
ProductCut usual_cut(const Product& product);

ProductShape shape_of(const Product& product, int threads);

/// False for products that take less than some 0.3 ms, or are computed by loops of our own.
bool is_worth_trial(const Product& product);

/// The fastest of kTriedCuts, the usual one and the usual one packed that writes the usual one's bits, found on the first rows
/// and columns of the product; `run` computes a product by a cut. Afterwards c is what it was, or is still to be written.
ProductCut try_cuts(const Product& product, const ProductCut& usual,
                    const std::function<void(const Product&, const ProductCut&)>& run);

}  // namespace tenax::kernels
