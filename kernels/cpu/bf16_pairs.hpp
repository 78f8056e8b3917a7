// AVX-512's products of bf16 pairs, and whether they gain anything on this processor.
#pragma once

namespace tenax::kernels {

/// True where the processor has the products of bf16 pairs (AVX512_BF16: vdpbf16ps).
bool has_bf16_pairs();

/// True where they also multiply about as many numbers in a second as fp32's multiply-adds do, or more: nearly twice as many on
/// Zen 4 (oneDNN's products), half as many on Emerald Rapids, whose bf16 products are AMX's, which a virtual machine or an old
/// kernel may hide. Measured at the first call, some 0.2 ms. Thread rule: any thread.
bool bf16_pairs_pay();

}  // namespace tenax::kernels
