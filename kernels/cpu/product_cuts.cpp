#include "kernels/cpu/product_cuts.hpp"

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul_onednn.hpp"
#include "kernels/host.hpp"

namespace tenax::kernels {
namespace {

bool has_pieces_of(const ProductCut& cut, const ProductCut& other) {
  return cut.rows == other.rows && cut.columns == other.columns;
}

ProductCut as_kept(const ProductCut& cut, const ProductCut& usual) {
  if (!has_pieces_of(cut, usual)) return cut;
  return cut.packs_b ? kUsualCutPacked : kUsualCut;
}

ProductCut as_run(const ProductCut& kept, const ProductCut& usual) {
  return has_pieces_of(kept, kUsualCut) ? ProductCut{usual.rows, usual.columns, kept.packs_b} : kept;
}

}  // namespace

std::string ProductShape::text() const {
  std::string text = std::string(name_of(input)) + " to " + name_of(output) + " " + std::to_string(rows) +
                     "x" + std::to_string(columns) + "x" + std::to_string(inner) + " ";
  text += "by " + std::to_string(a_stride) + "x" + std::to_string(b_stride) + "x" + std::to_string(c_stride) +
          " ";
  text += a_transposed ? "t" : "n";
  text += b_transposed ? "t" : "n";
  if (accumulate) text += " add";
  if (has_bias) text += " bias";
  text += ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  return text + ", beside " + std::to_string(usual.rows) + "x" + std::to_string(usual.columns);
}

ProductCuts::ProductCuts(const std::filesystem::path& file, const std::string& machine)
    : file_(file, machine), kept_(file_.read()) {}

std::optional<ProductCut> ProductCuts::find(const ProductShape& shape) {
  const std::lock_guard lock(mutex_);
  if (const auto chosen = chosen_.find(shape); chosen != chosen_.end()) return chosen->second;
  const auto kept = kept_.find(shape.text());
  if (kept == kept_.end()) return {};
  return chosen_.emplace(shape, as_run(kept->second, shape.usual)).first->second;
}

void ProductCuts::choose(const ProductShape& shape, const ProductCut& cut) {
  const std::lock_guard lock(mutex_);
  chosen_[shape] = cut;
  file_.add(shape.text(), as_kept(cut, shape.usual));
}

std::vector<std::string> ProductCuts::notes() const {
  const std::lock_guard lock(mutex_);
  return file_.note().empty() ? std::vector<std::string>{} : std::vector{file_.note()};
}

std::string machine_of_cuts() {
  return processor_name() + ", " + cpu_loops_name() + ", oneDNN " + OneDnnProducts::version() +
         (OneDnnProducts::has_bf16() ? "" : ", bf16 in fp32");
}

}  // namespace tenax::kernels
