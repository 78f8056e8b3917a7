#include "kernels/cpu/attention.hpp"

namespace tenax::kernels {

struct CpuAttention::Scratch {};

CpuAttention::CpuAttention(CpuMatmul& matmul) : matmul_(matmul), scratch_(std::make_unique<Scratch>()) {}
CpuAttention::~CpuAttention() = default;

}  // namespace tenax::kernels
