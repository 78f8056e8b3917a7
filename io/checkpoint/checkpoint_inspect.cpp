#include "io/checkpoint/checkpoint_inspect.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "io/checkpoint/checkpoint_scan.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/checksum.hpp"
#include "io/run/run_summary.hpp"
#include "io/text.hpp"
#include "io/tokens/token_inspect.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// "value, exp_avg, exp_avg_sq", say.
std::string names_of_parts(const CheckpointInfo& info) {
  std::string names = "value";
  for (const std::string& group : info.groups())
    if (group != kWeightGroup) names += ", " + excerpt(group.substr(moment_group("").size()));
  return names;
}

std::string tensor_lines(const CheckpointInfo& info) {
  std::size_t width = 6;
  for (const StoredParameter& p : info.parameters) width = std::max(width, excerpt(p.name).size() + 2);
  std::string text =
      padded("  tensor", width + 2) + padded("shape", 16) + "checksum of " + names_of_parts(info) + "\n";
  for (const StoredParameter& p : info.parameters) {
    text += padded("  " + excerpt(p.name), width + 2) + padded(p.shape.to_string(), 16);
    for (const StoredPart& part : p.parts) text.append(checksum_text(part.checksum)).append(" ");
    text.back() = '\n';
  }
  return text;
}

/// What is known of it.
std::string origin_lines(const CheckpointInfo& info) {
  std::string lines;
  if (info.next_sample) lines += listed("next_sample", grouped(*info.next_sample));
  for (const auto& [name, member] : kOriginTexts)
    if (const std::string& text = info.origin.*member; !text.empty()) lines += listed(name, text);
  return lines;
}

/// "[96:128]  up to 3.1e+07"
std::string stretch_line(const DatasetOutliers& dataset, const OutlierStretch& stretch) {
  char sizes[96];
  std::snprintf(sizes, sizeof sizes, "up to %.3g, median %.3g", static_cast<double>(stretch.largest),
                static_cast<double>(dataset.median));
  return "    " + excerpt(dataset.dataset) + "[" + std::to_string(stretch.begin) + ":" +
         std::to_string(stretch.end) + "]  " + sizes + "\n";
}

std::string outlier_lines(const std::vector<DatasetOutliers>& datasets) {
  constexpr std::size_t kMostLines = 20;
  std::size_t count = 0;
  std::string lines;
  for (const DatasetOutliers& dataset : datasets)
    for (const OutlierStretch& stretch : dataset.stretches)
      if (++count <= kMostLines) lines += stretch_line(dataset, stretch);
  if (count > kMostLines) lines += "    and " + std::to_string(count - kMostLines) + " more\n";
  const std::string found = count == 0   ? "no stretch"
                            : count == 1 ? "1 stretch"
                                         : grouped(static_cast<std::int64_t>(count)) + " stretches";
  return listed("outliers", found + " beyond 1,000 x its tensor's median size") + lines;
}

std::string describe(const fs::path& file, const CheckpointInfo& info,
                     const std::vector<DatasetOutliers>& outliers) {
  std::int64_t parameters = 0;
  for (const StoredParameter& p : info.parameters) parameters += p.elements;
  std::string text = file.string() + ": a checkpoint of tenax, complete and undamaged\n";
  text += listed("step", std::to_string(info.step));
  for (const auto& [name, member] : kModelSizes) text += listed(name, std::to_string(info.model.*member));
  text += origin_lines(info);
  text += listed("parameters", grouped(parameters)) + listed("bytes", grouped(info.file_bytes));
  const std::size_t tensors = info.parameters.size() * info.groups().size();
  text += listed("checksums", "of the file and of " + std::to_string(tensors) + " tensors verified");
  return text + outlier_lines(outliers) + tensor_lines(info);
}

}  // namespace

void verify_checkpoint(const fs::path& file) { verify_tensors(file, open_checkpoint(file)); }

std::string inspect(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return summarise_run(path);
  if (may_be_token_file(path)) return describe_token_file(path);
  const CheckpointInfo info = open_checkpoint(path);
  return describe(path, info, verify_and_search(path, info));
}

}  // namespace tenax::io
