#include "kernels/cpu/attention.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/cpu/attention_backward.hpp"
#include "kernels/cpu/attention_forward.hpp"

namespace tenax::kernels {
namespace {

// A rank computes in one thread, and heads share their scratch: never a parallel execution space.
using Heads = Kokkos::RangePolicy<Kokkos::Serial>;

// Where the rows of head h of sequence s lie in a tensor [sequences, T, parts · heads · head_size].
struct HeadLayout {
  std::ptrdiff_t length, heads, head_size;

  template <class Element>
  HeadRows<Element> rows(Element* data, std::ptrdiff_t index, std::ptrdiff_t parts,
                         std::ptrdiff_t part) const {
    const std::ptrdiff_t sequence = index / heads, head = index % heads, hidden = heads * head_size;
    return {data + sequence * length * parts * hidden + part * hidden + head * head_size, parts * hidden,
            length, head_size};
  }
};

HeadLayout layout_of(const Tensor& out, int heads) {
  assert(out.shape.rank() == 3 && heads > 0 && out.columns() % heads == 0);
  return {out.shape[1], heads, out.columns() / heads};
}

template <class Tile, class Element>
void forward_heads(AttentionForwardHead<Tile>& worker, const AttentionForwardArgs& args) {
  using Real = typename Tile::Real;
  const HeadLayout layout = layout_of(args.out, args.heads);
  const auto* qkv = args.qkv.as<const Element>();
  auto* out = args.out.as<Element>();
  auto* log_sum_exp = args.log_sum_exp.as<Real>();
  Kokkos::parallel_for("attention_forward", Heads(0, args.out.shape[0] * args.heads),
                       [=, &worker](long index) {
                         worker.run(layout.rows(qkv, index, 3, 0), layout.rows(qkv, index, 3, 1),
                                    layout.rows(qkv, index, 3, 2), layout.rows(out, index, 1, 0),
                                    log_sum_exp + index * layout.length);
                       });
}

template <class Tile, class Element>
void backward_heads(AttentionBackwardHead<Tile>& worker, const AttentionBackwardArgs& args) {
  using Real = typename Tile::Real;
  const HeadLayout layout = layout_of(args.out, args.heads);
  const auto* qkv = args.qkv.as<const Element>();
  const auto* out = args.out.as<const Element>();
  const auto* d_out = args.d_out.as<const Element>();
  auto* d_qkv = args.d_qkv.as<Element>();
  const auto* log_sum_exp = args.log_sum_exp.as<const Real>();
  Kokkos::parallel_for(
      "attention_backward", Heads(0, args.out.shape[0] * args.heads), [=, &worker](long index) {
        worker.run(
            BackwardHeadRows<Element>{layout.rows(qkv, index, 3, 0), layout.rows(qkv, index, 3, 1),
                                      layout.rows(qkv, index, 3, 2), layout.rows(out, index, 1, 0),
                                      layout.rows(d_out, index, 1, 0), layout.rows(d_qkv, index, 3, 0),
                                      layout.rows(d_qkv, index, 3, 1), layout.rows(d_qkv, index, 3, 2)},
            log_sum_exp + index * layout.length);
      });
}

}  // namespace

struct CpuAttention::Workers {
  AttentionForwardHead<NumberTile<float>> forward_f32;
  AttentionForwardHead<NumberTile<double>> forward_f64;
  AttentionForwardHead<Bf16Tile> forward_bf16;
  AttentionBackwardHead<NumberTile<float>> backward_f32;
  AttentionBackwardHead<NumberTile<double>> backward_f64;
  AttentionBackwardHead<Bf16Tile> backward_bf16;
};

CpuAttention::CpuAttention() : workers_(std::make_unique<Workers>()) {}
CpuAttention::~CpuAttention() = default;

void CpuAttention::forward(const AttentionForwardArgs& args) {
  if (args.qkv.dtype == DType::f32) forward_heads<NumberTile<float>, float>(workers_->forward_f32, args);
  if (args.qkv.dtype == DType::f64) forward_heads<NumberTile<double>, double>(workers_->forward_f64, args);
  if (args.qkv.dtype == DType::bf16) forward_heads<Bf16Tile, bf16_t>(workers_->forward_bf16, args);
}

void CpuAttention::backward(const AttentionBackwardArgs& args) {
  if (args.qkv.dtype == DType::f32) backward_heads<NumberTile<float>, float>(workers_->backward_f32, args);
  if (args.qkv.dtype == DType::f64) backward_heads<NumberTile<double>, double>(workers_->backward_f64, args);
  if (args.qkv.dtype == DType::bf16) backward_heads<Bf16Tile, bf16_t>(workers_->backward_bf16, args);
}

}  // namespace tenax::kernels
