#include "kernels/cpu/attention.hpp"

#include <tuple>
#include <vector>

#include "kernels/cpu/attention_backward.hpp"
#include "kernels/cpu/attention_forward.hpp"

#ifdef TENAX_MATRIX_REGISTERS
#include TENAX_MATRIX_REGISTERS_HEADER
#include "kernels/cpu/attention_matrix_tile.hpp"
#endif

namespace tenax::kernels {
namespace {

#if defined(TENAX_MATRIX_REGISTERS)
using Bf16Tile = MatrixTile<TENAX_MATRIX_REGISTERS>;
#elif defined(__AVX512BF16__)
using Bf16Tile = Bf16PairTile;
#else
using Bf16Tile = NumberTile<float>;  // converted as it is packed
#endif

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

/// The scratch of a member of the team.
template <class Element>
struct HeadWorker {
  using Tile = std::conditional_t<std::is_same_v<Element, bf16_t>, Bf16Tile, NumberTile<Element>>;
  using Real = typename Tile::Real;
  AttentionForwardHead<Tile> forward;
  AttentionBackwardHead<Tile> backward;
};

template <class Element>
using HeadWorkers = std::vector<HeadWorker<Element>>;

template <class Element>
void forward_heads(ThreadTeam& team, HeadWorkers<Element>& workers, const AttentionForwardArgs& args) {
  const HeadLayout layout = layout_of(args.out, args.heads);
  const auto* qkv = args.qkv.as<const Element>();
  auto* out = args.out.as<Element>();
  auto* log_sum_exp = args.log_sum_exp.as<typename HeadWorker<Element>::Real>();
  team.run(args.out.shape[0] * args.heads, team.size(), [=, &workers](std::int64_t index, int member) {
    workers[static_cast<std::size_t>(member)].forward.run(
        layout.rows(qkv, index, 3, 0), layout.rows(qkv, index, 3, 1), layout.rows(qkv, index, 3, 2),
        layout.rows(out, index, 1, 0), log_sum_exp + index * layout.length);
  });
}

template <class Element>
void backward_heads(ThreadTeam& team, HeadWorkers<Element>& workers, const AttentionBackwardArgs& args) {
  const HeadLayout layout = layout_of(args.out, args.heads);
  const auto* qkv = args.qkv.as<const Element>();
  const auto* out = args.out.as<const Element>();
  const auto* d_out = args.d_out.as<const Element>();
  auto* d_qkv = args.d_qkv.as<Element>();
  const auto* log_sum_exp = args.log_sum_exp.as<const typename HeadWorker<Element>::Real>();
  team.run(args.out.shape[0] * args.heads, team.size(), [=, &workers](std::int64_t index, int member) {
    workers[static_cast<std::size_t>(member)].backward.run(
        BackwardHeadRows<Element>{layout.rows(qkv, index, 3, 0), layout.rows(qkv, index, 3, 1),
                                  layout.rows(qkv, index, 3, 2), layout.rows(out, index, 1, 0),
                                  layout.rows(d_out, index, 1, 0), layout.rows(d_qkv, index, 3, 0),
                                  layout.rows(d_qkv, index, 3, 1), layout.rows(d_qkv, index, 3, 2)},
        log_sum_exp + index * layout.length);
  });
}

/// Each head is one member's: its sums do not depend on the team.
class AttentionLoops final : public CpuAttention {
 public:
  explicit AttentionLoops(ThreadTeam& team) : team_(team) {}
  void forward(const AttentionForwardArgs& args) override {
    with_type(args.qkv.dtype, [&](auto type) { forward_heads(team_, workers<decltype(type)>(), args); });
  }
  void backward(const AttentionBackwardArgs& args) override {
    with_type(args.qkv.dtype, [&](auto type) { backward_heads(team_, workers<decltype(type)>(), args); });
  }

 private:
  template <class Element>
  HeadWorkers<Element>& workers() {
    auto& workers = std::get<HeadWorkers<Element>>(workers_);
    if (workers.empty()) workers = HeadWorkers<Element>(static_cast<std::size_t>(team_.size()));
    return workers;
  }

  ThreadTeam& team_;
  std::tuple<HeadWorkers<float>, HeadWorkers<double>, HeadWorkers<bf16_t>> workers_;
};

}  // namespace

std::unique_ptr<CpuAttention> create_attention_loops(ThreadTeam& team) {
  return std::make_unique<AttentionLoops>(team);
}

}  // namespace tenax::kernels
