#include "io/checkpoint/checkpoint_check.hpp"

#include <algorithm>
#include <unordered_map>

#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/deck/deck_key.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

[[noreturn]] void refuse_checkpoint(const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, what);
}

void check_range(const char* name, std::int64_t value, Range range) {
  const std::string complaint = range.complaint(static_cast<double>(value), std::to_string(value));
  if (!complaint.empty()) refuse_checkpoint("its attribute " + (name + complaint));
}

void check_sizes(const ModelSizes& sizes) {
  for (const auto& [name, member] : kModelSizes) {
    const DeckKey* const key = find_key("model", name);
    assert(key != nullptr);
    Range range = key->range;
    range.low = 1;  // a deck may leave a size out
    check_range(name, sizes.*member, range);
  }
  if (sizes.hidden_size % sizes.num_attention_heads != 0)
    refuse_checkpoint("its attribute num_attention_heads = " + std::to_string(sizes.num_attention_heads) +
                      " does not divide hidden_size = " + std::to_string(sizes.hidden_size));
}

/// That each of its datasets lies between the seal and the end of the file.
void check_places(const StoredParameter& stored, std::int64_t file_bytes) {
  const std::int64_t bytes = stored.shape.size() * static_cast<std::int64_t>(sizeof(float));
  const bool inside = std::all_of(stored.parts.begin(), stored.parts.end(), [&](const StoredPart& part) {
    return part.offset >= kSealBytes && bytes <= file_bytes && part.offset <= file_bytes - bytes;
  });
  if (!inside) refuse_checkpoint("its tensor " + stored.name + " does not lie within it");
}

void check_tensors(const CheckpointInfo& info) {
  constexpr std::size_t kOutsideOfLayers = 4, kInALayer = 12;
  const std::size_t expected = kOutsideOfLayers + kInALayer * static_cast<std::size_t>(info.model.num_layers);
  if (info.parameters.size() != expected)
    refuse_checkpoint("it has " + std::to_string(info.parameters.size()) +
                      " tensors, but its attribute num_layers = " + std::to_string(info.model.num_layers) +
                      " makes them " + std::to_string(expected));
  std::unordered_map<std::string, const StoredParameter*> of_name;
  for (const StoredParameter& stored : info.parameters) of_name[stored.name] = &stored;
  for (const NamedShape& parameter : gpt2_parameters(info.model)) {
    const auto found = of_name.find(parameter.name);
    if (found == of_name.end()) refuse_checkpoint("its tensor " + parameter.name + " is missing");
    const StoredParameter& stored = *found->second;
    if (stored.shape != parameter.shape)
      refuse_checkpoint("its tensor " + parameter.name + " has the shape " + stored.shape.to_string() +
                        ", but its attributes make that " + parameter.shape.to_string());
    check_places(stored, info.file_bytes);
  }
}

}  // namespace

void check_contents(const CheckpointInfo& info) {
  const DeckKey* const steps = find_key("run", "train_steps");
  assert(steps != nullptr);
  check_range("step", info.step, {0, steps->range.high, false, false});
  if (info.next_sample && *info.next_sample < 0)
    refuse_checkpoint("its attribute next_sample = " + std::to_string(*info.next_sample) + " is negative");
  check_sizes(info.model);
  check_tensors(info);
}

}  // namespace tenax::io
