#include "io/checkpoint/checkpoint_convert.hpp"

#include <sys/stat.h>

#include <cmath>
#include <tuple>

#include "io/checkpoint/checkpoint_export.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "io/hugging_face/gpt2_weights.hpp"
#include "io/hugging_face/safetensors.hpp"
#include "io/run/run_summary.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::io {
namespace {

using Tensors = std::vector<SafetensorsWriter::Tensor>;

class Convert : public DirectoryTest {
 protected:
  Convert() {
    for (const NamedShape& p : gpt2_parameters(kTinyModel)) {
      tensors_.push_back({p.name, {}});
      for (int axis = 0; axis < p.shape.rank(); ++axis) tensors_.back().shape.push_back(p.shape[axis]);
    }
  }
  /// A safetensors file of `tensors_`, each element its state_value (of the name without prefix).
  std::filesystem::path write_weights() {
    SafetensorsWriter writer(weights_, tensors_, dtype_);
    for (const auto& tensor : tensors_) {
      std::int64_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= extent;
      const std::string name =
          tensor.name == "lm_head.weight" ? head_values_of_ : without_prefix(tensor.name);
      for (std::int64_t i = 0; i < count; ++i) {
        const float value = half_ ? std::fmod(state_value(name, 0, i), 30000.0F) : state_value(name, 0, i);
        writer.append({&value, 1});
      }
    }
    writer.publish();
    return weights_;
  }
  std::filesystem::path weights_ = directory_ / "model.safetensors", checkpoint_ = directory_ / "step.h5";
  std::string head_values_of_ = "wte.weight", dtype_ = "F32";
  bool half_ = false;  // only values that F16 holds
  Tensors tensors_;
};

#define EXPECT_SAYS(text, part)                            \
  do {                                                     \
    const std::string said = (text);                       \
    EXPECT_NE(said.find(part), std::string::npos) << said; \
  } while (false)

TEST_F(Convert, import_then_export_gives_the_same_bytes) {
  write_weights();
  import_safetensors(weights_, checkpoint_, 4);
  std::filesystem::create_directory(directory_ / "out");
  export_safetensors(open_verified_checkpoint(checkpoint_), directory_ / "out/model.safetensors", {});
  EXPECT_EQ(read_file(weights_), read_file(directory_ / "out/model.safetensors"));
  EXPECT_EQ(read_gpt2_config(directory_ / "out"), kTinyModel);
  EXPECT_EQ(names_in(directory_ / "out"), (std::vector<std::string>{"config.json", "model.safetensors"}));
}

TEST_F(Convert, writes_behind_a_link_and_in_the_place_of_no_pipe) {
  const auto far = directory_ / "far", pipe = directory_ / "pipe.safetensors",
             link = directory_ / "link.safetensors";
  std::filesystem::create_directory(far);
  std::filesystem::create_symlink("far/step.h5", checkpoint_);
  std::filesystem::create_symlink("far/model.safetensors", link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  import_safetensors(write_weights(), checkpoint_, 4);
  export_safetensors(open_verified_checkpoint(far / "step.h5"), link, {});
  EXPECT_TRUE(std::filesystem::is_symlink(checkpoint_) && std::filesystem::is_symlink(link));
  EXPECT_EQ(names_in(far), (std::vector<std::string>{"model.safetensors", "step.h5"}));
  EXPECT_EQ(read_file(far / "model.safetensors"), read_file(weights_));
  EXPECT_SAYS(error_of([&] { import_safetensors(weights_, pipe, 4); }), "a device, not a file");
  EXPECT_SAYS(error_of([&] { export_safetensors(open_verified_checkpoint(checkpoint_), pipe, {}); }),
              "a device, not a file");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Convert, imported_checkpoints_are_of_step_zero_with_zero_moments) {
  import_safetensors(write_weights(), checkpoint_, 2);
  const CheckpointInfo info = open_checkpoint(checkpoint_);
  EXPECT_EQ(info.step, 0);
  EXPECT_EQ(info.model.num_attention_heads, 2);
  WholeState state(kTinyModel, 1);
  read_checkpoint(checkpoint_, info, state.ranges);
  for (const StateRange& range : state.ranges) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      ASSERT_EQ(range.weights()[i], state_value(range.name, 0, i)) << range.name << " " << i;
      for (const std::size_t moment : {1, 2})
        ASSERT_EQ(std::bit_cast<std::uint32_t>(range.parts[moment].data[i]), 0U);
    }
  }
}

TEST_F(Convert, the_number_of_heads_comes_from_config_json_else_from_the_option) {
  write_weights();
  EXPECT_SAYS(error_of([&] { import_safetensors(weights_, checkpoint_, {}); }, kernels::Scope::usage),
              "--num-attention-heads");
  EXPECT_SAYS(error_of([&] { import_safetensors(weights_, checkpoint_, 3); }, kernels::Scope::usage),
              "do not divide");
  write_file(directory_ / "config.json", gpt2_config_text(kTinyModel, "F32"));
  EXPECT_EQ(import_safetensors(weights_, checkpoint_, {}).info.model, kTinyModel);
  EXPECT_EQ(import_safetensors(weights_, checkpoint_, 4).info.model, kTinyModel);
  EXPECT_SAYS(error_of([&] { import_safetensors(weights_, directory_ / "other.h5", 2); }),
              "4 attention heads");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "other.h5"));
}

TEST_F(Convert, config_json_of_another_architecture_is_refused) {
  write_weights();
  for (const auto& [text, key] : {std::pair{R"({"model_type":"llama"})", "model_type"},
                                  {R"({"activation_function":"relu"})", "activation_function"},
                                  {R"({"layer_norm_epsilon":1e-6})", "layer_norm_epsilon"},
                                  {R"({"tie_word_embeddings":false})", "tie_word_embeddings"},
                                  {R"({"n_head":4,"n_embd":9})", "hidden_size"},
                                  {R"({"n_head":-4})", "n_head"},
                                  {"{", "JSON"}}) {
    write_file(directory_ / "config.json", text);
    EXPECT_SAYS(error_of([&] { import_safetensors(weights_, checkpoint_, 4); }), key);
  }
  EXPECT_FALSE(std::filesystem::exists(checkpoint_));
}

TEST_F(Convert, names_with_prefix_masks_and_a_tied_head_are_understood) {
  for (auto& tensor : tensors_) tensor.name.insert(0, "transformer.");
  tensors_.push_back({"transformer.h.0.attn.bias", {1, 1, 6, 6}});
  tensors_.push_back({"transformer.h.1.attn.masked_bias", {}});
  tensors_.push_back({"lm_head.weight", {13, 8}});
  const auto [info, ignored] = import_safetensors(write_weights(), checkpoint_, 4);
  EXPECT_EQ(info.parameters.size(), gpt2_parameters(kTinyModel).size());
  EXPECT_EQ(ignored, (std::vector<std::string>{"transformer.h.0.attn.bias",
                                               "transformer.h.1.attn.masked_bias", "lm_head.weight"}));
}

TEST_F(Convert, half_precision_weights_are_imported_exactly_and_come_back_as_the_same_bytes) {
  half_ = true;
  for (const char* dtype : {"F16", "BF16"}) {
    dtype_ = dtype;
    import_safetensors(write_weights(), checkpoint_, 4);
    export_safetensors(open_verified_checkpoint(checkpoint_), directory_ / "again.safetensors",
                       {.dtype = dtype});
    EXPECT_EQ(read_file(weights_), read_file(directory_ / "again.safetensors")) << dtype;
  }
}

TEST_F(Convert, an_untied_head_is_refused) {
  tensors_.push_back({"lm_head.weight", {13, 8}});
  head_values_of_ = "another";
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }), "lm_head.weight differs");
}

TEST_F(Convert, missing_extra_and_misshapen_tensors_are_named) {
  const Tensors good = tensors_;
  std::erase_if(tensors_, [](const auto& t) { return t.name == "h.1.ln_2.bias"; });
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }), "h.1.ln_2.bias is missing");
  tensors_ = good;
  tensors_.push_back({"h.2.attn.c_attn.weight", {8, 24}});
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }), "h.2.attn.c_attn.weight is not a parameter");
  tensors_ = good;
  tensors_[4].shape = {24, 8};
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }),
              "h.0.attn.c_attn.weight has the shape [24, 8], but should have [8, 24]");
  tensors_ = {{"a", {1}}};
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }), "wte.weight is missing");
  tensors_ = good;
  tensors_.push_back({"transformer.wte.weight", {13, 8}});
  EXPECT_SAYS(error_of([&] { Gpt2Weights{write_weights()}; }), "twice");
}

TEST_F(Convert, weights_are_read_by_shards_with_zero_padding) {
  const Gpt2Weights weights(write_weights());
  std::vector<float> part(8 * 8, 9.0F);
  const kernels::ShardLayout layout{
      .logical = {13, 8}, .axis = 0, .parts = 2, .index = 1, .padded_extent = 16};
  weights.read({.name = "wte.weight", .layout = layout, .count = 64, .parts = {{kWeightGroup, part.data()}}});
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(part[static_cast<std::size_t>(i)], i < 40 ? state_value("wte.weight", 0, 64 + i) : 0.0F) << i;
  }
  ModelSizes other = kTinyModel;
  EXPECT_NO_THROW(weights.check_model(other));
  other.num_layers = 3;
  EXPECT_SAYS(error_of([&] { weights.check_model(other); }), "num_layers is 2, but should be 3");
}

TEST_F(Convert, export_rounds_to_the_type_asked_for_and_refuses_others) {
  WholeState state(kTinyModel);
  for (auto& values : state.memory) std::fill(values.begin(), values.end(), 1.0F / 3);
  CheckpointInfo info;
  info.model = kTinyModel;
  write_checkpoint(checkpoint_, info, state.ranges);
  export_safetensors(open_verified_checkpoint(checkpoint_), weights_, {.dtype = "BF16"});
  const SafetensorsReader reader(weights_);
  float value = 0;
  reader.read(reader.entries()[3], 2, {&value, 1});
  EXPECT_EQ(value, float_of_bf16(0x3EAB));
  EXPECT_SAYS(
      error_of([&] { export_safetensors(open_verified_checkpoint(checkpoint_), weights_, {.dtype = "F64"}); },
               kernels::Scope::usage),
      "F64");
}

TEST_F(Convert, export_in_parts_is_imported_by_folder_or_index_and_has_the_same_bytes) {
  write_weights();
  import_safetensors(weights_, checkpoint_, 4);
  const auto parts = directory_ / "parts";
  std::filesystem::create_directory(parts);
  export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors",
                     {.shard_bytes = 2000});
  const auto names = names_in(parts);
  ASSERT_EQ(names.size(), 7U);
  EXPECT_EQ(names[1], "model-00001-of-00005.safetensors");
  EXPECT_EQ(names[6], "model.safetensors.index.json");
  for (const auto& in : {parts, parts / "model.safetensors.index.json"}) {
    EXPECT_EQ(import_safetensors(in, directory_ / "again.h5", {}).info.model, kTinyModel);
    export_safetensors(open_verified_checkpoint(directory_ / "again.h5"), directory_ / "again.safetensors",
                       {});
    EXPECT_EQ(read_file(weights_), read_file(directory_ / "again.safetensors"));
  }
  EXPECT_SAYS(error_of([&] { import_safetensors(parts / names[1], directory_ / "one.h5", 4); }),
              "one of the 5 parts of a model: name the folder");
  std::filesystem::remove(parts / names[2]);
  EXPECT_SAYS(error_of([&] { import_safetensors(parts, directory_ / "one.h5", 4); }), names[2]);
  export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors",
                     {});  // one file, where there were parts
  EXPECT_EQ(import_safetensors(parts, directory_ / "whole.h5", {}).info.model, kTinyModel);
  EXPECT_SAYS(error_of([&] {
                export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors",
                                   {.shard_bytes = 2000});
              }),
              "exists and would be loaded instead");
}

// The name of the second file is taken meanwhile, so the first one is of the new export.
TEST_F(Convert, an_export_that_is_cut_short_over_an_older_one_leaves_no_index) {
  write_weights();
  import_safetensors(weights_, checkpoint_, 4);
  const auto parts = directory_ / "parts";
  std::filesystem::create_directory(parts);
  const ExportOptions options{.shard_bytes = 2000};
  export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors", options);
  const auto second = parts / "model-00002-of-00005.safetensors";
  std::filesystem::remove(second);
  std::filesystem::create_directories(second / "something");
  EXPECT_SAYS(error_of([&] {
                export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors",
                                   options);
              }),
              second.string());
  EXPECT_FALSE(std::filesystem::exists(parts / "model.safetensors.index.json"));
  EXPECT_SAYS(error_of([&] { import_safetensors(parts, directory_ / "again.h5", {}); }),
              "holds neither model.safetensors");
  std::filesystem::remove_all(second);
  export_safetensors(open_verified_checkpoint(checkpoint_), parts / "model.safetensors", options);
  EXPECT_EQ(import_safetensors(parts, directory_ / "again.h5", {}).info.model, kTinyModel);
}

TEST_F(Convert, a_checkpoint_that_a_run_removes_meanwhile_is_exported_all_the_same) {
  import_safetensors(write_weights(), checkpoint_, 4);
  const VerifiedCheckpoint checkpoint = open_verified_checkpoint(checkpoint_);
  std::filesystem::remove(checkpoint_);
  export_safetensors(checkpoint, directory_ / "again.safetensors", {});
  EXPECT_EQ(read_file(weights_), read_file(directory_ / "again.safetensors"));
}

TEST_F(Convert, an_index_that_does_not_say_what_its_files_hold_is_refused) {
  write_weights();
  import_safetensors(weights_, checkpoint_, 4);
  export_safetensors(open_verified_checkpoint(checkpoint_), directory_ / "part.safetensors",
                     {.shard_bytes = 2000});
  const auto index = directory_ / "part.safetensors.index.json";
  const std::string text = read_file(index);
  for (const auto& [from, to, says] :
       {std::tuple{"wte.weight", "wte.other", "does not say that wte.weight is in part-00001"},
        {"part-00001-of-00005.safetensors", "../part-00001-of-00005.safetensors",
         "does not name a file beside it"},
        {"\"weight_map\"", "\"weights\"", "no weight_map"}}) {
    std::string changed = text;
    write_file(index, changed.replace(changed.find(from), std::string(from).size(), to));
    EXPECT_SAYS(error_of([&] { import_safetensors(index, directory_ / "again.h5", 4); }), says);
  }
}

TEST_F(Convert, what_is_no_safetensors_is_named_as_what_it_is) {
  for (const auto& [bytes, says] : {std::pair{std::string("PK\3\4 zip"), "PyTorch's pickled weights"},
                                    {std::string("\x80\2 pickle"), "PyTorch's pickled weights"},
                                    {std::string("\x89HDF\r\n"), "HDF5"},
                                    {std::string("tenax checkpoint 1\n"), "checkpoint of tenax"}}) {
    write_file(directory_ / "pytorch_model.bin", bytes);
    EXPECT_SAYS(error_of([&] { import_safetensors(directory_ / "pytorch_model.bin", checkpoint_, 4); }),
                says);
  }
  EXPECT_SAYS(error_of([&] { import_safetensors(directory_, checkpoint_, 4); }), "PyTorch's pickled weights");
  std::filesystem::remove(directory_ / "pytorch_model.bin");
  EXPECT_SAYS(error_of([&] { import_safetensors(directory_, checkpoint_, 4); }),
              "holds neither model.safetensors");
  import_safetensors(write_weights(), checkpoint_, 4);
  EXPECT_SAYS(
      error_of([&] { export_safetensors(open_verified_checkpoint(checkpoint_), directory_ / "m.bin", {}); },
               kernels::Scope::usage),
      "must end in .safetensors");
}

TEST_F(Convert, another_architecture_is_named_before_its_tensors_are_missed) {
  tensors_ = {{"model.embed_tokens.weight", {3, 2}}};
  write_weights();
  write_file(directory_ / "config.json", R"({"model_type":"llama"})");
  EXPECT_SAYS(error_of([&] { import_safetensors(directory_, checkpoint_, {}); }), "model_type is \"llama\"");
}

TEST_F(Convert, exports_of_several_models_do_not_share_a_folder_unless_they_share_its_texts) {
  import_safetensors(write_weights(), checkpoint_, 4);
  const auto two_heads = directory_ / "two.h5", out = directory_ / "out";
  import_safetensors(weights_, two_heads, 2);
  std::filesystem::create_directory(out);
  const auto write = [&](const std::filesystem::path& from, const char* name, const char* dtype) {
    export_safetensors(open_verified_checkpoint(from), out / name, {.dtype = dtype});
  };
  write(checkpoint_, "a.safetensors", "F32");
  write(checkpoint_, "b.safetensors", "BF16");
  const auto names = names_in(out);
  EXPECT_SAYS(error_of([&] { write(two_heads, "c.safetensors", "F32"); }),
              "config.json is not what belongs to c.safetensors");
  EXPECT_SAYS(error_of([&] { write(two_heads, "a.safetensors", "F32"); }), "export into another folder");
  EXPECT_EQ(names_in(out), names);
  EXPECT_EQ(read_gpt2_config(out), kTinyModel);
  std::filesystem::remove(out / "b.safetensors");
  for (const char* other : {"a-tuned-00001-of-00002.safetensors", "a-1-of-.safetensors"}) {
    std::filesystem::copy_file(out / "a.safetensors", out / other);
    EXPECT_SAYS(error_of([&] { write(two_heads, "a.safetensors", "F32"); }), "export into another folder");
    std::filesystem::rename(out / other, out / "a-00001-of-00002.safetensors");
  }
  write(two_heads, "a.safetensors", "F32");
  EXPECT_EQ(read_gpt2_config(out)->num_attention_heads, 2);
}

TEST_F(Convert, a_known_tokenizer_is_written_as_hugging_face_keeps_it) {
  write_weights();
  import_safetensors(weights_, checkpoint_, 4);
  const test::SmallVocabulary vocabulary;
  const auto gpt2 = vocabulary.tokenizer();
  const auto out = directory_ / "gpt2";
  std::filesystem::create_directory(out);
  export_safetensors(open_verified_checkpoint(checkpoint_), out / "model.safetensors",
                     {.tokenizer = gpt2.get(), .vocab_dir = vocabulary.folder().path()});
  EXPECT_EQ(read_file(out / "vocab.json"), vocabulary.folder().read("encoder.json"));
  EXPECT_EQ(read_file(out / "merges.txt"), vocabulary.folder().read("vocab.bpe"));
  EXPECT_SAYS(read_file(out / "tokenizer_config.json"), "\"eos_token\": \"<|endoftext|>\"");
  EXPECT_SAYS(read_file(out / "generation_config.json"), "\"eos_token_id\": 262");
  EXPECT_SAYS(read_file(out / "config.json"), "\"eos_token_id\": 262");
  const auto bytes = Tokenizer::create("bytes", "");
  export_safetensors(open_verified_checkpoint(checkpoint_), directory_ / "b.safetensors",
                     {.tokenizer = bytes.get()});
  const auto again = Tokenizer::create("gpt2", directory_);  // a BPE of bytes is the tokenizer of bytes
  const std::string text = "any \xFF\0\n text";
  EXPECT_EQ(encode(*again, text), encode(*bytes, text));
  EXPECT_SAYS(read_file(directory_ / "tokenizer_config.json"), "\"eos_token\": null");
}

TEST_F(Convert, a_run_directory_is_summed_up) {
  write_file(directory_ / "events.jsonl", R"({"time":1.7e9,"step":0,"event":"start"})"
                                          "\n"
                                          R"({"time":1.7e9,"step":7,"event":"checkpoint_failed"})"
                                          "\n"
                                          R"({"time":1.7e9,"step":20,"event":"end","reason":"completed"})"
                                          "\n");
  write_file(directory_ / "metrics.jsonl",
             R"({"step":19,"loss":2.5,"grad_norm":0.25,"tokens_per_second":1000})"
             "\n"
             R"({"step":1)");
  std::filesystem::create_directory(directory_ / "checkpoints");
  write_file(directory_ / "checkpoints/step-000020.h5", "");
  const std::string text = summarise_run(directory_);
  for (const char* part : {"completed after step 20, 2023-11-14", "19: loss 2.5",
                           "checkpoint_failed   1 time", "step-000020.h5"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  std::filesystem::remove(directory_ / "events.jsonl");
  EXPECT_SAYS(error_of([&] { summarise_run(directory_); }), "not a run directory");
}

}  // namespace
}  // namespace tenax::io
