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

template <class Element, class Tile>
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

template <class Element, class Tile>
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

template <class Element>
struct HeadWorkers {
  using Tile = std::conditional_t<std::is_same_v<Element, bf16_t>, Bf16Tile, NumberTile<Element>>;
  AttentionForwardHead<Tile> forward;
  AttentionBackwardHead<Tile> backward;
};

class AttentionLoops final : public CpuAttention {
 public:
  void forward(const AttentionForwardArgs& args) override {
    with_type(args.qkv.dtype, [&](auto type) {
      forward_heads<decltype(type)>(std::get<HeadWorkers<decltype(type)>>(workers_).forward, args);
    });
  }
  void backward(const AttentionBackwardArgs& args) override {
    with_type(args.qkv.dtype, [&](auto type) {
      backward_heads<decltype(type)>(std::get<HeadWorkers<decltype(type)>>(workers_).backward, args);
    });
  }

 private:
  std::tuple<HeadWorkers<float>, HeadWorkers<double>, HeadWorkers<bf16_t>> workers_;
};

}  // namespace

std::unique_ptr<CpuAttention> create_attention_loops() { return std::make_unique<AttentionLoops>(); }

}  // namespace tenax::kernels
