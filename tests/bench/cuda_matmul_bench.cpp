// cuda_matmul_bench [WIDTH VOCABULARY ROWS]: the bf16 products of a GPT's layer and head on this machine's GPU, and what
// the search for algorithms does for each: the heuristics' first proposal, the best that writes the same bits (what is
// used), and the best of all (what device.deterministic = false would use). TFLOP/s of random numbers; products that take
// more than half a GiB are narrowed. GPT-2 124M with 32 sequences unless said otherwise.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/matmul_call.hpp"
#include "kernels/cuda/matmul_search.hpp"
#include "kernels/error.hpp"

namespace {

using namespace tenax::kernels;
using namespace tenax::kernels::cuda;

struct Product {
  std::string name;
  MatmulPlan plan;
};

// Where nothing is: plans look at shapes and alignment only.
Tensor imagined(DType dtype, std::int64_t rows, std::int64_t columns) {
  return {reinterpret_cast<void*>(256), dtype, {rows, columns}};
}

void add_linear(std::vector<Product>& products, const std::string& name, std::int64_t rows, std::int64_t in,
                std::int64_t out, bool with_bias) {
  const Tensor x = imagined(DType::bf16, rows, in), y = imagined(DType::bf16, rows, out);
  const Tensor weight = imagined(DType::bf16, in, out), d_weight = imagined(DType::f32, in, out);
  const Tensor bias = with_bias ? imagined(DType::bf16, 1, out) : Tensor{};
  products.push_back(
      {name + " forward", plan_of(MatmulArgs{.a = x, .b = weight, .c = y, .bias = bias}).plan});
  products.push_back(
      {name + " input",
       plan_of(MatmulArgs{.a = y, .b = weight, .c = x, .transpose_b = true, .bias = {}}).plan});
  for (const bool accumulate : {false, true}) {
    const std::string which = name + (accumulate ? " weight +=" : " weight =");
    products.push_back({which, plan_of(MatmulArgs{x, y, d_weight, true, false, {}, accumulate}).plan});
  }
}

void add_gelu(std::vector<Product>& products, std::int64_t rows, std::int64_t width) {
  const Tensor x = imagined(DType::bf16, rows, width), y = imagined(DType::bf16, rows, 4 * width);
  const Tensor up = imagined(DType::bf16, width, 4 * width), down = imagined(DType::bf16, 4 * width, width);
  products.push_back({"fc forward, gelu",
                      plan_of(LinearGeluForwardArgs{x, up, imagined(DType::bf16, 1, 4 * width), y, y}).plan});
  products.push_back(
      {"ffn_out input, d_gelu", plan_of(LinearGeluBackwardInputArgs{x, down, y, y, y}, y).plan});
}

void add_head(std::vector<Product>& products, std::int64_t rows, std::int64_t width,
              std::int64_t vocabulary) {
  const Tensor x = imagined(DType::bf16, rows, width), logits = imagined(DType::bf16, rows, vocabulary);
  const Tensor wte = imagined(DType::bf16, vocabulary, width),
               d_wte = imagined(DType::f32, vocabulary, width);
  products.push_back({"head forward", plan_of(MatmulArgs{x, wte, logits, false, true, {}, false}).plan});
  products.push_back({"head input", plan_of(MatmulArgs{logits, wte, x, false, false, {}, false}).plan});
  products.push_back({"head weight +=", plan_of(MatmulArgs{logits, x, d_wte, true, false, {}, true}).plan});
}

void measure(cublasLtHandle_t handle, const Product& product) {
  void* const somewhere = reinterpret_cast<void*>(256);
  const auto proposals = MatmulCall(product.plan, {somewhere, somewhere, somewhere, somewhere, somewhere})
                             .algorithms(handle, kTrialProposals);
  if (proposals.empty()) {
    std::printf("%-24s has no algorithm\n", product.name.c_str());
    return;
  }
  MatmulSearch search(handle, product.plan, kTrialOperand_bytes);
  std::vector<Trial> trials;
  for (const auto& proposal : proposals) trials.push_back(search.trial_of(proposal.algo));
  const MatmulPlan& plan = search.plan();
  const double teraflop =
      2e-12 * static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k);
  const auto rate = [&](std::size_t i) { return trials[i].ran ? teraflop / trials[i].seconds : 0.0; };
  int agreeing = 0;
  for (const Trial& trial : trials) agreeing += trial.ran && trial.bits == trials[0].bits;
  const std::size_t used = best_of(trials, true);
  const bool in_place =
      plan.epilogue == Epilogue::d_gelu && search.works_in_place(proposals[used].algo, trials[used].bits);
  std::printf("%-24s %8.1f %8.1f %8.1f   %d of %zu%s\n", product.name.c_str(), rate(0), rate(used),
              rate(best_of(trials, false)), agreeing, trials.size(), in_place ? ", in place" : "");
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return count > 3 ? std::atoll(arguments[i]) : otherwise;
  };
  const std::int64_t width = number(1, 768), vocabulary = number(2, 50304), rows = number(3, 32768);
  std::vector<Product> products;
  add_linear(products, "qkv", rows, width, 3 * width, true);
  add_linear(products, "proj", rows, width, width, false);
  add_linear(products, "fc", rows, width, 4 * width, true);
  add_linear(products, "ffn_out", rows, 4 * width, width, false);
  add_gelu(products, rows, width);
  add_head(products, rows, width, vocabulary);
  try {
    cublasLtHandle_t handle = nullptr;
    TENAX_CUBLAS_CHECK(cublasLtCreate(&handle));
    std::printf("%-24s %8s %8s %8s   same bits\n", "TFLOP/s, bf16", "first", "used", "best");
    for (const Product& product : products) measure(handle, product);
    cublasLtDestroy(handle);
  } catch (const Error& error) {
    std::fprintf(stderr, "cuda_matmul_bench: %s\n", error.what());
    return 1;
  }
}
