// The training state of every rank of a layout, cut as tensor-, pipeline- and data-parallel training cuts it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::resilience {

struct TestLayout {
  int tensor = 1, pipeline = 1, data = 1;
  int ranks() const { return tensor * pipeline * data; }
};

/// One rank's ranges with memory of their own.
class ShardedState {
 public:
  ShardedState(const io::ModelSizes& sizes, TestLayout layout, int rank) : sizes_(sizes), layout_(layout) {
    tensor_ = rank % layout.tensor;
    data_ = rank / layout.tensor % layout.data;
    stage_ = rank / (layout.tensor * layout.data);
    for (const io::NamedShape& parameter : io::gpt2_parameters(sizes)) {
      if (stage_of(parameter.name) == stage_) add(parameter, true);
      const bool second_copy = parameter.name == "wte.weight" && stage_ == layout.pipeline - 1 && stage_ > 0;
      if (second_copy) add(parameter, false);
    }
    cut_for_data_parallelism();
  }

  const std::vector<io::StateRange>& ranges() const { return ranges_; }

  /// Every logical element its state_value, padding zero.
  void fill(std::uint32_t salt = 0) {
    for_each_element([&](float& value, const std::string& name, int part, std::int64_t logical) {
      value = logical < 0 ? 0.0F : io::state_value(name, part, logical, salt);
    });
  }
  void poison() {
    for_each_element([](float& value, const std::string&, int, std::int64_t) { value = 42.0F; });
  }
  /// How many elements are not what fill() makes them.
  std::int64_t wrong(std::uint32_t salt = 0) {
    std::int64_t count = 0;
    for_each_element([&](float& value, const std::string& name, int part, std::int64_t logical) {
      const float expected = logical < 0 ? 0.0F : io::state_value(name, part, logical, salt);
      count += std::bit_cast<std::uint32_t>(value) != std::bit_cast<std::uint32_t>(expected);
    });
    return count;
  }

 private:
  int stage_of(const std::string& name) const {
    if (name.starts_with("w")) return 0;
    if (name.starts_with("ln_f")) return layout_.pipeline - 1;
    const std::int64_t layer = std::stoll(name.substr(2));
    return static_cast<int>(layer * layout_.pipeline / sizes_.num_layers);
  }

  kernels::ShardLayout shard_of(const io::NamedShape& parameter) const {
    kernels::ShardLayout shard{.logical = parameter.shape};
    const auto cut = [&](int axis, int sections) {
      shard.axis = axis;
      shard.parts = layout_.tensor;
      shard.index = tensor_;
      shard.sections = sections;
    };
    const std::string& name = parameter.name;
    if (name == "wte.weight") {
      cut(0, 1);
      shard.padded_extent = (parameter.shape[0] + layout_.tensor - 1) / layout_.tensor * layout_.tensor;
    }
    if (name.ends_with("c_attn.weight")) cut(1, 3);
    if (name.ends_with("c_attn.bias")) cut(0, 3);
    if (name.ends_with("c_fc.weight")) cut(1, 1);
    if (name.ends_with("c_fc.bias") || name.ends_with("c_proj.weight")) cut(0, 1);
    return shard;
  }

  void add(const io::NamedShape& parameter, bool primary) {
    io::StateRange range{.name = parameter.name, .layout = shard_of(parameter), .primary = primary};
    range.count = range.layout.local().size();
    if (range.layout.parts == 1 && layout_.tensor > 1 && tensor_ > 0) range.primary = false;  // replicated
    ranges_.push_back(range);
  }

  /// Keeps this data rank's piece of all local elements side by side; cuts fall anywhere.
  void cut_for_data_parallelism() {
    std::int64_t total = 0;
    for (const io::StateRange& range : ranges_) total += range.count;
    const auto cut = [&](int d) {
      return d == layout_.data ? total : total * d / layout_.data + (d > 0 ? 3 * d - 5 : 0);
    };
    const std::int64_t begin = cut(data_), end = cut(data_ + 1);
    std::vector<io::StateRange> kept;
    std::int64_t at = 0;
    for (io::StateRange range : ranges_) {
      const std::int64_t from = std::max(begin, at), to = std::min(end, at + range.count);
      range.local_begin = from - at;
      at += range.count;
      range.count = to - from;
      if (range.count > 0) kept.push_back(range);
    }
    ranges_ = kept;
    for (io::StateRange& range : ranges_) {
      for (const std::string& group : io::kAdamWGroups) {
        memory_.push_back(std::make_unique<float[]>(static_cast<std::size_t>(range.count)));
        range.parts.push_back({group, memory_.back().get()});
      }
    }
  }

  /// `visit(value, name, part, logical index or -1 in padding)`
  template <class Visit>
  void for_each_element(const Visit& visit) {
    for (const io::StateRange& range : ranges_) {
      std::vector<std::int64_t> logical(static_cast<std::size_t>(range.count), -1);
      range.layout.for_each_run(range.local_begin, range.local_begin + range.count, [&](const auto& run) {
        for (std::int64_t i = 0; i < run.count; ++i) {
          logical[static_cast<std::size_t>(run.local_begin - range.local_begin + i)] = run.logical_begin + i;
        }
      });
      for (int part = 0; part < static_cast<int>(range.parts.size()); ++part)
        for (std::int64_t i = 0; i < range.count; ++i)
          visit(range.parts[static_cast<std::size_t>(part)].data[i], range.name, part,
                logical[static_cast<std::size_t>(i)]);
    }
  }

  io::ModelSizes sizes_;
  TestLayout layout_;
  int tensor_ = 0, data_ = 0, stage_ = 0;
  std::vector<io::StateRange> ranges_;
  std::vector<std::unique_ptr<float[]>> memory_;
};

}  // namespace tenax::resilience
