#include "io/checkpoint/checkpoint_convert.hpp"

#include <algorithm>

#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/hugging_face/gpt2_weights.hpp"
#include "io/output_place.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

/// The sizes of `weights`, heads included.
ModelSizes complete_sizes(const fs::path& in, const Gpt2Weights& weights, std::optional<std::int64_t> heads) {
  ModelSizes sizes = weights.sizes();
  const std::int64_t stated = sizes.num_attention_heads;
  if (stated == 0 && !heads) {
    throw Error(Scope::usage,
                "how many attention heads has " + in.string() +
                    "? There is no config.json beside it that says: give --num-attention-heads N");
  }
  if (stated != 0 && heads && *heads != stated) {
    throw Error(Scope::rank, "config.json beside " + in.string() + " says " + std::to_string(stated) +
                                 " attention heads, --num-attention-heads " + std::to_string(*heads));
  }
  sizes.num_attention_heads = stated != 0 ? stated : *heads;
  if (sizes.num_attention_heads <= 0 || sizes.hidden_size % sizes.num_attention_heads != 0) {
    throw Error(stated != 0 ? Scope::rank : Scope::usage,
                in.string() + " has the hidden size " + std::to_string(sizes.hidden_size) + ", which " +
                    std::to_string(sizes.num_attention_heads) + " attention heads do not divide");
  }
  return sizes;
}

std::size_t count_of(const NamedShape& parameter) { return static_cast<std::size_t>(parameter.shape.size()); }

/// The state of a model that has not been trained yet: weights of the file, and AdamW's moments, which share one zero.
struct ImportedState {
  ImportedState(const std::vector<NamedShape>& parameters, const Gpt2Weights& weights) {
    std::size_t total = 0, largest = 0;
    for (const NamedShape& parameter : parameters) {
      total += count_of(parameter);
      largest = std::max(largest, count_of(parameter));
    }
    values.resize(total);
    zeros.resize(largest);
    float* at = values.data();
    for (const NamedShape& parameter : parameters) {
      weights.read(parameter.name, {at, count_of(parameter)});
      ranges.push_back({.name = parameter.name,
                        .layout = {parameter.shape},
                        .count = parameter.shape.size(),
                        .parts = {{kWeightGroup, at},
                                  {moment_group("exp_avg"), zeros.data()},
                                  {moment_group("exp_avg_sq"), zeros.data()}}});
      at += count_of(parameter);
    }
  }
  std::vector<float> values, zeros;
  std::vector<StateRange> ranges;
};

}  // namespace

ImportedModel import_safetensors(const fs::path& in, const fs::path& out, std::optional<std::int64_t> heads,
                                 const CheckpointOrigin& origin) {
  const Gpt2Weights weights(in);
  CheckpointInfo info;
  info.model = complete_sizes(in, weights, heads);
  info.origin = origin;
  info.next_sample = 0;
  const fs::path file = file_of_output(out);
  const ImportedState state(gpt2_parameters(info.model), weights);
  write_checkpoint(file, info, state.ranges);
  return {open_checkpoint(file), weights.ignored()};
}

}  // namespace tenax::io
