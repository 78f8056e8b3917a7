#include "kernels/cpu/matmul_onednn.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul_scratch.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

dnnl::memory::data_type type_of(DType dtype) {
  assert(dtype == DType::f32 || dtype == DType::bf16);
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride, bool transposed,
                          DType dtype) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1};
  return {{rows, columns}, type_of(dtype), strides};
}

/// A product as oneDNN describes it. `bias` may be null.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                      const dnnl::memory::desc& b, const dnnl::memory::desc* bias,
                                      const dnnl::memory::desc& c, const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return bias ? dnnl::matmul::primitive_desc(engine, a, b, *bias, c, attributes)
              : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
#else
  const auto operation = bias ? dnnl::matmul::desc(a, b, *bias, c) : dnnl::matmul::desc(a, b, c);
  return {operation, attributes, engine};
#endif
}

constexpr std::size_t kMostPrepared = 1024;

bool computes_with(dnnl::cpu_isa needed) {
  const auto bits = static_cast<unsigned>(needed);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

// A rank is one thread; the OpenMP runtime that oneDNN may have brought along must agree, whatever the
// environment says. The setting belongs to the calling thread.
void use_one_thread() {
  using SetThreads = void (*)(int);
  if (const auto set_threads = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set_threads(1);
}

}  // namespace

struct OneDnnProducts::State {
  // Everything a primitive is made for; the pointers come with each execution.
  struct Key {
    std::int64_t m, n, k, a_stride, b_stride, c_stride;
    bool a_transposed, b_transposed, accumulate, has_bias;
    DType input, output;
    bool operator==(const Key&) const = default;
  };

  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      const auto mix = [&hash](std::int64_t value) {
        hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
      };
      for (const std::int64_t value : {key.m, key.n, key.k, key.a_stride, key.b_stride, key.c_stride})
        mix(value);
      mix(key.a_transposed | key.b_transposed << 1 | key.accumulate << 2 | key.has_bias << 3 |
          static_cast<int>(key.input) << 4 | static_cast<int>(key.output) << 8);
      return static_cast<std::size_t>(hash);
    }
  };

  // The memory objects are made once, too: an execution only gives them its pointers.
  struct Prepared {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, bias, scratchpad;
    std::unordered_map<int, dnnl::memory> arguments;
    std::size_t scratch_bytes = 0;
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Key, Prepared, KeyHash> prepared_of_key;
  ScratchArray<std::byte> scratch;

  Prepared prepare(const Key& key);
};

OneDnnProducts::State::Prepared OneDnnProducts::State::prepare(const Key& key) {
  use_one_thread();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0f);
    attributes.set_post_ops(post_ops);
  }
  const auto a = matrix(key.m, key.k, key.a_stride, key.a_transposed, key.input);
  const auto b = matrix(key.k, key.n, key.b_stride, key.b_transposed, key.input);
  const auto c = matrix(key.m, key.n, key.c_stride, false, key.output);
  const auto bias = matrix(1, key.n, key.n, false, key.input);
  const auto description = describe(engine, a, b, key.has_bias ? &bias : nullptr, c, attributes);
  Prepared made;
  made.primitive = dnnl::matmul(description);
  made.scratch_bytes = description.scratchpad_desc().get_size();
  const auto argument = [&](int name, const dnnl::memory::desc& layout) {
    return made.arguments.emplace(name, dnnl::memory(layout, engine, nullptr)).first->second;
  };
  made.a = argument(DNNL_ARG_SRC, a);
  made.b = argument(DNNL_ARG_WEIGHTS, b);
  made.c = argument(DNNL_ARG_DST, c);
  if (key.has_bias) made.bias = argument(DNNL_ARG_BIAS, bias);
  made.scratchpad = argument(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  return made;
}

OneDnnProducts::OneDnnProducts() : state_(std::make_unique<State>()) {}
OneDnnProducts::~OneDnnProducts() = default;

bool OneDnnProducts::has_bf16() {
  switch (cpu_loops().bf16) {
    case Bf16Instructions::none:
      return false;
    case Bf16Instructions::pairs:
      return computes_with(dnnl::cpu_isa::avx512_core_bf16);
    case Bf16Instructions::tiles:
      return computes_with(dnnl::cpu_isa::avx512_core_amx);
  }
  return false;
}

std::string OneDnnProducts::version() {
  const dnnl_version_t& version = *dnnl_version();
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

void OneDnnProducts::run(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                         const void* bias) {
  assert(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns && !c.transposed);
  assert(a.dtype == b.dtype && (c.dtype == a.dtype || c.dtype == DType::f32));
  const State::Key key{a.rows,       b.columns,    a.columns,  a.row_stride,    b.row_stride, c.row_stride,
                       a.transposed, b.transposed, accumulate, bias != nullptr, a.dtype,      c.dtype};
  try {
    auto found = state_->prepared_of_key.find(key);
    if (found == state_->prepared_of_key.end()) {
      // Training needs some dozens; text that grows by a token at a time would fill the memory.
      if (state_->prepared_of_key.size() >= kMostPrepared) state_->prepared_of_key.clear();
      found = state_->prepared_of_key.emplace(key, state_->prepare(key)).first;
    }
    State::Prepared& prepared = found->second;
    state_->scratch.reserve(static_cast<std::ptrdiff_t>(prepared.scratch_bytes));
    prepared.a.set_data_handle(a.data);
    prepared.b.set_data_handle(b.data);
    prepared.c.set_data_handle(c.data);
    if (bias) prepared.bias.set_data_handle(const_cast<void*>(bias));
    prepared.scratchpad.set_data_handle(state_->scratch.data());
    prepared.primitive.execute(state_->stream, prepared.arguments);
  } catch (const dnnl::error& error) {
    throw Error(Scope::rank, std::string("oneDNN cannot multiply [") + std::to_string(key.m) + ", " +
                                 std::to_string(key.k) + "] by [" + std::to_string(key.k) + ", " +
                                 std::to_string(key.n) + "] in " + name_of(a.dtype) + ": " + error.what());
  }
}

}  // namespace tenax::kernels
