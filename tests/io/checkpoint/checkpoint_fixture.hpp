// A tiny model's state, whole in one process, and a directory of its own for each test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

inline constexpr ModelSizes kTinyModel = {.num_layers = 2,
                                          .hidden_size = 8,
                                          .num_attention_heads = 4,
                                          .ffn_hidden_size = 32,
                                          .seq_length = 6,
                                          .vocab_size = 13};

/// The groups of a checkpoint that is trained on with AdamW, and with Lion.
inline const std::vector<std::string> kAdamWGroups = {kWeightGroup, moment_group("exp_avg"),
                                                      moment_group("exp_avg_sq")};
inline const std::vector<std::string> kLionGroups = {kWeightGroup, moment_group("exp_avg")};

/// An element's value as a function of where it is; any bit pattern but those of NaNs.
inline float state_value(const std::string& name, int part, std::int64_t index, std::uint32_t salt = 0) {
  std::uint64_t x = std::hash<std::string>()(name) + static_cast<std::uint64_t>(index * 3 + part) +
                    (std::uint64_t{salt} << 40);
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15U;
  return std::bit_cast<float>(static_cast<std::uint32_t>(x >> 32) & 0xBFFFFFFFU);
}

/// Every parameter of a model with memory of its own, as one primary range each.
struct WholeState {
  explicit WholeState(const ModelSizes& sizes, std::uint32_t salt = 0,
                      const std::vector<std::string>& groups = kAdamWGroups) {
    for (const NamedShape& p : gpt2_parameters(sizes)) {
      StateRange range{.name = p.name, .layout = {p.shape}, .count = p.shape.size()};
      for (int part = 0; part < static_cast<int>(groups.size()); ++part) {
        std::vector<float>& values = memory.emplace_back(static_cast<std::size_t>(p.shape.size()));
        for (std::int64_t i = 0; i < p.shape.size(); ++i)
          values[static_cast<std::size_t>(i)] = state_value(p.name, part, i, salt);
        range.parts.push_back({groups[static_cast<std::size_t>(part)], values.data()});
      }
      ranges.push_back(std::move(range));
    }
  }
  std::vector<std::vector<float>> memory;
  std::vector<StateRange> ranges;
};

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        std::filesystem::temp_directory_path() / (std::string("tenax-") + info->test_suite_name() + "-" +
                                                  info->name() + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~DirectoryTest() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The sentence of the kernels::Error that `work` throws; empty if it throws none.
template <class Work>
std::string error_of(const Work& work, kernels::Scope scope = kernels::Scope::rank) {
  try {
    work();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), scope) << error.what();
    return error.what();
  }
  return {};
}

}  // namespace tenax::io
