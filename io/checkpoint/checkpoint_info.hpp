// CheckpointInfo: the content of a checkpoint without its tensors, and their places. Plain data;
// travels between ranks as text.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/deck/model_sizes.hpp"
#include "io/state_range.hpp"

namespace tenax::io {

/// A float32 dataset of a parameter.
struct StoredPart {
  std::string group;           ///< a group of io/state_range.hpp
  std::uint64_t checksum = 0;  ///< checksum.hpp; word = flat index
  std::int64_t offset = 0;     ///< place of its first byte in the file
};

struct StoredParameter {
  std::string name;                    ///< Hugging Face
  kernels::Shape shape = {};           ///< logical, unsharded
  std::vector<StoredPart> parts = {};  ///< the weights first; the same groups in all of a checkpoint
  std::int64_t elements = 0;           ///< how many the checksums cover

  /// Null if it has no part of that group.
  const StoredPart* find(const std::string& group) const;
};

/// The program and the ranks that wrote a checkpoint, and the data that its model was trained on.
/// Unknown members are empty, as all are in files of format 1.
struct CheckpointOrigin {
  std::string tokenizer;            ///< "bytes" or "gpt2": what made the training tokens
  std::string vocabulary_checksum;  ///< vocabulary_checksum() of io/tokenizer/tokenizer.hpp; empty for bytes
  std::string compute_dtype;        ///< "fp32" or "bf16", as in the deck
  std::string tenax_version;
  std::string commit;        ///< the source's; "-dirty" at its end: changed since
  std::string replica = {};  ///< under tenax launch: which replica's ranks wrote it
  std::string hosts = {};    ///< of these ranks, as rank_hosts.hpp has it
  std::string rank_places =
      {};  ///< the same: which rank is where in the grid; empty: each in its first place
  std::string data_checksum = {};  ///< of the names and sizes of the data files that the run trained on last
  bool operator==(const CheckpointOrigin&) const = default;
};

/// Every member with the name of its attribute.
struct OriginText {
  const char* name;
  std::string CheckpointOrigin::*member;
};
inline constexpr std::array<OriginText, 9> kOriginTexts = {{
    {"tokenizer", &CheckpointOrigin::tokenizer},
    {"vocabulary_checksum", &CheckpointOrigin::vocabulary_checksum},
    {"compute_dtype", &CheckpointOrigin::compute_dtype},
    {"tenax_version", &CheckpointOrigin::tenax_version},
    {"commit", &CheckpointOrigin::commit},
    {"replica", &CheckpointOrigin::replica},
    {"hosts", &CheckpointOrigin::hosts},
    {"rank_places", &CheckpointOrigin::rank_places},
    {"data_checksum", &CheckpointOrigin::data_checksum},
}};

struct CheckpointInfo {
  std::int64_t step = 0;  ///< steps done
  /// The number of the first sample that has not been trained on; unknown in files of format 1,
  /// which stopped at step x the deck's global batch size.
  std::optional<std::int64_t> next_sample;
  ModelSizes model;
  CheckpointOrigin origin;
  std::string deck;  ///< the resolved deck, TOML; empty for an imported model
  std::vector<StoredParameter> parameters;
  std::int64_t file_bytes = 0;
  std::uint64_t metadata_checksum = 0;  ///< the part of the seal's checksum that is not tensors

  /// The parameter of that name; null if there is none.
  const StoredParameter* find(const std::string& name) const;
  /// Those that each parameter has a part of.
  std::vector<std::string> groups() const;
};

/// The contribution of one rank's primary ranges: each parameter once, with partial checksums.
/// Reads every element.
std::vector<StoredParameter> contributions_of(std::span<const StateRange> ranges);
/// The sum of all ranks' contributions, sorted by name. Throws kernels::Error(job) unless they
/// cover each parameter exactly.
std::vector<StoredParameter> merge_contributions(const std::vector<std::vector<StoredParameter>>& of_rank);

std::string to_text(const std::vector<StoredParameter>& parameters);
std::vector<StoredParameter> parse_parameters(const std::string& text);
std::string to_text(const CheckpointInfo& info);
CheckpointInfo parse_info(const std::string& text);

}  // namespace tenax::io
