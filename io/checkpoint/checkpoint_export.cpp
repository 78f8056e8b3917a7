// An index of several files is {"metadata": {"total_size": BYTES}, "weight_map": {TENSOR: FILE, …}}.
#include "io/checkpoint/checkpoint_export.hpp"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "io/checkpoint/export_place.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "io/hugging_face/hugging_face_files.hpp"
#include "io/hugging_face/safetensors.hpp"
#include "io/output_place.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;
using Shard = std::vector<NamedShape>;

void check(const ExportOptions& options, const fs::path& out) {
  const std::string& dtype = options.dtype;
  if (dtype != "F32" && dtype != "F16" && dtype != "BF16")
    throw Error(Scope::usage, "--dtype is " + dtype + ", but should be F32, F16 or BF16");
  if (out.extension() != ".safetensors")
    throw Error(Scope::usage,
                "export: --out " + out.string() +
                    " must end in .safetensors, which is what is written (a .bin would be taken for "
                    "PyTorch's)");
}

std::int64_t bytes_of(const NamedShape& parameter, const std::string& dtype) {
  return parameter.shape.size() * bytes_of_dtype(dtype);
}

/// In order, as many to a file as fit.
std::vector<Shard> cut(const std::vector<NamedShape>& parameters, const ExportOptions& options) {
  std::vector<Shard> shards(1);
  std::int64_t bytes = 0;
  for (const NamedShape& parameter : parameters) {
    const std::int64_t more = bytes_of(parameter, options.dtype);
    if (options.shard_bytes > 0 && bytes + more > options.shard_bytes && !shards.back().empty()) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(parameter);
    bytes += more;
  }
  constexpr std::size_t kMostShards = 500;  // they are written side by side
  if (shards.size() > kMostShards)
    throw Error(Scope::usage, "--shard-size " + std::to_string(options.shard_bytes) + " would make " +
                                  std::to_string(shards.size()) + " files; at most " +
                                  std::to_string(kMostShards) + " are written");
  return shards;
}

std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// Beside `out`; of a single shard what `out` stands for.
fs::path file_of(std::size_t shard, std::size_t shards, const fs::path& out) {
  if (shards == 1) return file_of_output(out);
  return out.parent_path() /
         (out.stem().string() + "-" + five_digits(shard + 1) + "-of-" + five_digits(shards) + ".safetensors");
}

std::string index_text(const std::vector<Shard>& shards, const fs::path& out, const std::string& dtype) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const NamedShape& parameter : shards[i]) {
      files[parameter.name] = file_of(i, shards.size(), out).filename().string();
      bytes += bytes_of(parameter, dtype);
    }
  return nlohmann::ordered_json{{"metadata", {{"total_size", bytes}}}, {"weight_map", files}}.dump(2) + "\n";
}

std::vector<SafetensorsWriter::Tensor> tensors_of(const Shard& shard) {
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const NamedShape& parameter : shard) {
    tensors.push_back({parameter.name, {}});
    for (int axis = 0; axis < parameter.shape.rank(); ++axis)
      tensors.back().shape.push_back(parameter.shape[axis]);
  }
  return tensors;
}

void append_parameter(SafetensorsWriter& writer, const VerifiedCheckpoint& checkpoint,
                      const NamedShape& parameter) {
  std::vector<float> values(static_cast<std::size_t>(parameter.shape.size()));
  const StateRange range{.name = parameter.name,
                         .layout = {parameter.shape},
                         .count = parameter.shape.size(),
                         .parts = {{kWeightGroup, values.data()}}};
  read_checkpoint(checkpoint.file, checkpoint.info, {&range, 1});
  writer.append(values);
}

/// The texts beside the weights, by name, without the index.
std::map<std::string, std::string> texts_of(const CheckpointInfo& info, const ExportOptions& options) {
  std::map<std::string, std::string> texts;
  std::optional<std::int32_t> end_of_text;
  if (options.tokenizer) {
    texts = tokenizer_files(*options.tokenizer, options.vocab_dir, info.model.seq_length);
    end_of_text = options.tokenizer->end_of_text();
  }
  texts["config.json"] = gpt2_config_text(info.model, options.dtype, end_of_text);
  return texts;
}

fs::path index_of(const fs::path& out) { return out.string() + ".index.json"; }

std::unique_ptr<AtomicFile> begin_text(const fs::path& target, const std::string& text) {
  auto file = std::make_unique<AtomicFile>(target);
  file->file().write(std::as_bytes(std::span(text)), 0);
  return file;
}

/// In this order. To make large files durable takes minutes, so all of them are before the first has its name: a kill
/// would leave a mixture with the files of an older export. That one's index goes before, as it fits the mixture too.
void publish_in_order(const std::vector<std::unique_ptr<SafetensorsWriter>>& weights,
                      const std::vector<std::unique_ptr<AtomicFile>>& texts, const fs::path& old_index) {
  std::vector<std::pair<fs::path, fs::path>> targets;
  for (const auto& writer : weights) targets.push_back(writer->sync());
  for (const auto& text : texts) targets.push_back(text->sync());
  std::error_code failure;
  if (weights.size() > 1 && !fs::remove(old_index, failure) && failure)
    throw_file_error("remove", old_index, failure);
  io::publish(targets);
}

}  // namespace

void export_safetensors(const VerifiedCheckpoint& checkpoint, const fs::path& out,
                        const ExportOptions& options) {
  check(options, out);
  const CheckpointInfo& info = checkpoint.info;
  const std::vector<Shard> shards = cut(gpt2_parameters(info.model), options);
  std::error_code none;
  if (shards.size() > 1 && fs::exists(out, none))
    throw Error(Scope::rank, out.string() + " exists and would be loaded instead of the " +
                                 std::to_string(shards.size()) + " files beside it: remove it first");
  const std::map<std::string, std::string> texts = texts_of(info, options);
  check_texts_beside(out, texts);
  std::vector<std::unique_ptr<SafetensorsWriter>> writers;  // all at once: a full disk shows now
  for (std::size_t i = 0; i < shards.size(); ++i)
    writers.push_back(std::make_unique<SafetensorsWriter>(file_of(i, shards.size(), out),
                                                          tensors_of(shards[i]), options.dtype));
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const auto& [name, text] : texts) files.push_back(begin_text(out.parent_path() / name, text));
  if (shards.size() > 1) files.push_back(begin_text(index_of(out), index_text(shards, out, options.dtype)));
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const NamedShape& parameter : shards[i]) append_parameter(*writers[i], checkpoint, parameter);
  publish_in_order(writers, files, index_of(out));
}

}  // namespace tenax::io
