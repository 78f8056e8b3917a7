// algorithms.txt of a run directory: what the devices of its ranks have chosen (kernels::Device::choices), for the run to compute
// the same when it goes on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::app {

/// Empty where there is none. Throws Error(rank) where it cannot be read.
std::string read_algorithms(const std::filesystem::path& directory);

/// One text of those of all ranks: each line once; of lines that say different things of one operation on one kind of device,
/// the one of the lowest rank.
std::string merged_algorithms(const std::vector<std::string>& choices_of_rank);

/// Nothing where there is nothing to say. Throws Error(rank) where it cannot be written.
void write_algorithms(const std::filesystem::path& directory, const std::string& text);

}  // namespace tenax::app
