#include "io/checkpoint/checkpoint_inspect.hpp"

#include <algorithm>
#include <vector>

#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/checksum.hpp"
#include "io/posix_file.hpp"
#include "io/run/run_summary.hpp"
#include "io/text.hpp"
#include "io/tokens/token_inspect.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

std::uint64_t checksum_of_dataset(const PosixFile& file, std::int64_t offset, std::int64_t elements) {
  std::vector<float> piece(static_cast<std::size_t>(std::min<std::int64_t>(elements, 1 << 18)));
  std::uint64_t sum = 0;
  for (std::int64_t at = 0; at < elements;) {
    const std::int64_t n = std::min<std::int64_t>(elements - at, static_cast<std::int64_t>(piece.size()));
    file.read(std::as_writable_bytes(std::span(piece).first(static_cast<std::size_t>(n))), offset + 4 * at);
    sum += checksum_of_words(piece.data(), n, at);
    at += n;
  }
  return sum;
}

void verify_tensors(const fs::path& path, const CheckpointInfo& info) {
  const PosixFile file = PosixFile::open_to_read(path);
  for (const StoredParameter& parameter : info.parameters) {
    for (const StoredPart& part : parameter.parts) {
      const std::uint64_t sum = checksum_of_dataset(file, part.offset, parameter.elements);
      if (sum == part.checksum) continue;
      throw kernels::Error(kernels::Scope::rank, path.string() + " is damaged: the checksum of " +
                                                     part.group + "/" + parameter.name + " is " +
                                                     checksum_text(sum) + ", but should be " +
                                                     checksum_text(part.checksum));
    }
  }
}

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

std::string describe(const fs::path& file, const CheckpointInfo& info) {
  std::int64_t parameters = 0;
  for (const StoredParameter& p : info.parameters) parameters += p.elements;
  std::string text = file.string() + ": a checkpoint of tenax, complete and undamaged\n";
  text += listed("step", std::to_string(info.step));
  for (const auto& [name, member] : kModelSizes) text += listed(name, std::to_string(info.model.*member));
  text += origin_lines(info);
  text += listed("parameters", grouped(parameters)) + listed("bytes", grouped(info.file_bytes));
  const std::size_t tensors = info.parameters.size() * info.groups().size();
  text += listed("checksums", "of the file and of " + std::to_string(tensors) + " tensors verified");
  return text + tensor_lines(info);
}

CheckpointInfo open_and_verify(const fs::path& file) {
  CheckpointInfo info = open_checkpoint(file);
  verify_tensors(file, info);
  return info;
}

}  // namespace

void verify_checkpoint(const fs::path& file) { open_and_verify(file); }

std::string inspect(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return summarise_run(path);
  if (may_be_token_file(path)) return describe_token_file(path);
  return describe(path, open_and_verify(path));
}

}  // namespace tenax::io
