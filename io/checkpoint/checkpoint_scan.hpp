// Reading every number of a checkpoint.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/checkpoint/outliers.hpp"

namespace tenax::io {

/// What a dataset has of outliers; at least one stretch.
struct DatasetOutliers {
  std::string dataset;  ///< "/model/wte.weight"
  float median = 0;     ///< SizeCensus::median
  std::vector<OutlierStretch> stretches;
};

/// Compares each dataset of a checkpoint with its checksum. `info` is the file's. Throws
/// kernels::Error(rank) for one that is damaged.
void verify_tensors(const std::filesystem::path& file, const CheckpointInfo& info);
/// The same, and finds what is far larger than usual: reads datasets a second time that have it.
std::vector<DatasetOutliers> verify_and_search(const std::filesystem::path& file, const CheckpointInfo& info);

}  // namespace tenax::io
