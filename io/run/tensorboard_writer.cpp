#include "io/run/tensorboard_writer.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "io/run/tensorboard_records.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.", kValidation = "validation_loss";

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw kernels::Error(kernels::Scope::rank, "cannot write " + file.string() + ": " + why);
}

bool is_kept(std::string_view event, std::int64_t steps_done) {
  const std::int64_t step = step_of_event(event);
  const bool is_scalars = event.find("brain.Event") == std::string_view::npos;
  if (!is_scalars) return true;
  return event.find(kValidation) == std::string_view::npos ? step < steps_done : step <= steps_done;
}

/// Cuts the file before the first record that is written again, or is torn. Steps only grow within a file.
void rewind(const fs::path& file, std::int64_t steps_done) {
  std::string text;
  if (const auto failure = read_text_file(file, text)) fail(file, failure.message());
  std::size_t kept = 0;
  while (const auto event = front_record(std::string_view(text).substr(kept))) {
    if (!is_kept(*event, steps_done)) break;
    kept += record_size(event->size());
  }
  if (kept < text.size() && ::truncate(file.c_str(), static_cast<off_t>(kept)) != 0)
    fail(file, std::strerror(errno));
}

/// Returns `directory`, whose older files now hold nothing of later steps.
fs::path rewound(const fs::path& directory, std::int64_t steps_done) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail(directory, error.message());
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (steps_done > 0)
      rewind(entry.path(), steps_done);
    else if (!fs::remove(entry.path(), error))
      fail(entry.path(), error.message());
  }
  return directory;
}

/// TensorBoard reads the files of a directory in the order of their names.
fs::path new_name(const fs::path& directory) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string seconds = std::to_string(static_cast<std::int64_t>(unix_time_s()));
  for (int number = 0;; ++number) {
    const fs::path file = directory / (std::string(kPrefix) + seconds + "." + host.data() + "." +
                                       std::to_string(::getpid()) + "." + std::to_string(number));
    if (!fs::exists(file)) return file;
  }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const fs::path& run_directory, std::int64_t steps_done)
    : file_(PosixFile::create(new_name(rewound(run_directory / "tensorboard", steps_done)))) {
  const std::string record = record_of(version_event(unix_time_s()));
  file_.write(std::as_bytes(std::span(record)), end_);
  end_ += static_cast<std::int64_t>(record.size());
}

void TensorBoardWriter::training(const TrainingMetrics& m) {
  append(m.step, {{"loss", m.loss},
                  {"grad_norm", m.grad_norm},
                  {"lr", m.lr},
                  {"tokens_per_second", m.tokens_per_second}});
}

void TensorBoardWriter::validation(std::int64_t step, double validation_loss) {
  append(step, {{kValidation, validation_loss}});
}

void TensorBoardWriter::append(std::int64_t step, std::vector<std::pair<std::string_view, double>> scalars) {
  std::erase_if(scalars, [](const auto& scalar) { return !std::isfinite(scalar.second); });
  const std::string record = record_of(scalars_event(unix_time_s(), step, scalars));
  file_.write(std::as_bytes(std::span(record)), end_);
  end_ += static_cast<std::int64_t>(record.size());
}

}  // namespace tenax::io
