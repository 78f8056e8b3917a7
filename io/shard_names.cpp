#include "io/shard_names.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShardDigits = 5;

fs::directory_iterator entries_beside(const fs::path& target) {
  std::error_code ignored;
  return fs::directory_iterator(folder_of(target), ignored);
}

}  // namespace

fs::path shard_name(const fs::path& target, std::size_t shard) {
  std::string number = std::to_string(shard);
  if (number.size() < kShardDigits) number.insert(0, kShardDigits - number.size(), '0');
  return target.parent_path() / (target.stem().string() + "-" + number + target.extension().string());
}

std::string set_of_shard(const std::string& name) {
  const fs::path path(name);
  const std::string stem = path.stem().string();
  const std::size_t dash = stem.rfind('-');
  const bool is_shard = dash != std::string::npos && stem.size() - dash > kShardDigits &&
                        stem.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return is_shard ? stem.substr(0, dash) + path.extension().string() : "";
}

std::optional<fs::path> first_shard(const fs::path& target) {
  std::set<fs::path> shards;
  for (const auto& entry : entries_beside(target))
    if (set_of_shard(entry.path().filename().string()) == target.filename().string())
      shards.insert(target.parent_path() / entry.path().filename());
  return shards.empty() ? std::nullopt : std::optional(*shards.begin());
}

void check_sets_are_whole(const std::vector<fs::path>& files) {
  std::set<fs::path> sets;
  for (const fs::path& file : files)
    if (const std::string set = set_of_shard(file.filename().string()); !set.empty())
      sets.insert(file.parent_path() / set);
  std::error_code none;
  for (const fs::path& set : sets) {
    if (fs::exists(set.parent_path() / shard_name(set, 0).filename(), none))
      continue;  // the last to get its place
    for (const auto& entry : entries_beside(set)) {
      const std::string shard = target_of_temporary(entry.path().filename().string());
      if (set_of_shard(shard) != set.filename().string() || fs::exists(set.parent_path() / shard, none))
        continue;
      throw kernels::Error(
          kernels::Scope::rank,
          (set.parent_path() / shard).string() + " is not in place yet (" + entry.path().filename().string() +
              " is), but others of its set are: wait for tenax tokenize, or, if it was killed, "
              "remove the set and that file, and tokenize again");
    }
  }
}

}  // namespace tenax::io
