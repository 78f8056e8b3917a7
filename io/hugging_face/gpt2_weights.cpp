#include "io/hugging_face/gpt2_weights.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "io/hugging_face/gpt2_model.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const kernels::Shape& shape) {
  Extents extents;
  for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
  return extents;
}

}  // namespace

Gpt2Weights::Gpt2Weights(const std::filesystem::path& model) : set_(model) {
  // First, for of another architecture it says more than the tensors that are missing.
  const std::optional<ModelSizes> config = read_gpt2_config(set_.path().parent_path());
  collect();
  infer_sizes();
  check_parameters();
  check_head();
  if (config) apply(*config);
}

void Gpt2Weights::collect() {
  for (const SafetensorsSet::Tensor& tensor : set_.tensors()) {
    const std::string name = without_prefix(tensor.entry->name);
    if (is_mask_buffer(name) || name == kTiedHead) ignored_.push_back(tensor.entry->name);
    if (is_mask_buffer(name)) continue;
    if (!tensor_of_name_.emplace(name, tensor).second)
      refuse("it holds " + name + " twice, with and without 'transformer.'");
  }
}

const SafetensorsSet::Tensor& Gpt2Weights::tensor(const std::string& name) const {
  const auto found = tensor_of_name_.find(name);
  if (found == tensor_of_name_.end())
    refuse(name + " is missing; tenax reads GPT-2 under Hugging Face's names");
  return found->second;
}

void Gpt2Weights::infer_sizes() {
  const auto matrix = [&](const std::string& name) {
    const SafetensorsEntry& e = entry(name);
    if (e.shape.size() != 2 || e.elements() == 0) {
      refuse(name + " has the shape " + shape_text(e.shape) + ", not two dimensions");
    }
    return e.shape;
  };
  const Extents tokens = matrix("wte.weight");
  sizes_.vocab_size = tokens[0];
  sizes_.hidden_size = tokens[1];
  sizes_.seq_length = matrix("wpe.weight")[0];
  sizes_.ffn_hidden_size = matrix("h.0.mlp.c_fc.weight")[1];
  while (tensor_of_name_.contains("h." + std::to_string(sizes_.num_layers) + ".ln_1.weight"))
    ++sizes_.num_layers;
}

void Gpt2Weights::check_parameters() const {
  const std::vector<NamedShape> expected = gpt2_parameters(sizes_);
  for (const NamedShape& parameter : expected) {
    const SafetensorsEntry& e = entry(parameter.name);
    if (e.shape == extents_of(parameter.shape)) continue;
    refuse(parameter.name + " has the shape " + shape_text(e.shape) + ", but should have " +
           shape_text(extents_of(parameter.shape)));
  }
  std::set<std::string_view> known = {kTiedHead};
  for (const NamedShape& parameter : expected) known.insert(parameter.name);
  for (const auto& [name, found] : tensor_of_name_) {
    if (known.contains(name)) continue;
    refuse(found.entry->name + " is not a parameter of GPT-2 with " + std::to_string(sizes_.num_layers) +
           " layers");
  }
}

void Gpt2Weights::check_head() const {
  if (!tensor_of_name_.contains(kTiedHead)) return;
  const SafetensorsEntry &head = entry(kTiedHead), &tokens = entry("wte.weight");
  bool equal = head.shape == tokens.shape;
  std::vector<float> a(1 << 16), b(1 << 16);
  for (std::int64_t at = 0; equal && at < tokens.elements(); at += static_cast<std::int64_t>(a.size())) {
    const auto n = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(a.size()), tokens.elements() - at));
    tensor(kTiedHead).reader->read(head, at, std::span(a).first(n));
    tensor("wte.weight").reader->read(tokens, at, std::span(b).first(n));
    equal = std::memcmp(a.data(), b.data(), n * sizeof(float)) == 0;
  }
  if (!equal) refuse("lm_head.weight differs from wte.weight; tenax ties the two");
}

void Gpt2Weights::apply(const ModelSizes& config) {
  sizes_.num_attention_heads = config.num_attention_heads;
  for (const auto& [name, member] : kModelSizes) {
    const std::int64_t stated = config.*member;
    if (stated == 0 || stated == sizes_.*member) continue;
    refuse(std::string("its ") + name + " is " + std::to_string(sizes_.*member) +
           ", but config.json beside it says " + std::to_string(stated));
  }
}

void Gpt2Weights::check_model(const ModelSizes& wanted) const {
  ModelSizes known = sizes_;
  if (known.num_attention_heads == 0) known.num_attention_heads = wanted.num_attention_heads;
  check_same_model(set_.path(), known, wanted);
}

void Gpt2Weights::read(const std::string& name, std::span<float> values) const {
  const SafetensorsSet::Tensor& found = tensor(name);
  found.reader->read(*found.entry, 0, values);
}

void Gpt2Weights::read(const StateRange& range) const {
  const SafetensorsSet::Tensor& found = tensor(range.name);
  std::fill_n(range.weights(), range.count, 0.0F);
  range.layout.for_each_run(range.local_begin, range.local_begin + range.count, [&](const auto& run) {
    float* const memory = range.weights() + (run.local_begin - range.local_begin);
    found.reader->read(*found.entry, run.logical_begin, {memory, static_cast<std::size_t>(run.count)});
  });
}

}  // namespace tenax::io
