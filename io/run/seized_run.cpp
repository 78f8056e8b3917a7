#include "io/run/seized_run.hpp"

#include <string>
#include <system_error>

#include "io/run/directory_lock.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

// It gets another name first: what comes after that is not copied, and its writer sees that it is not in place.
void seize_file(const fs::path& file) {
  const fs::path aside = file.string() + ".seized";
  std::error_code error, ignored;
  if (fs::exists(file, ignored)) fs::rename(file, aside, error);
  if (error) throw_file_error("rename", file, error);
  if (!fs::exists(aside, ignored)) return;
  std::string text;
  if (const auto failure = read_text_file(aside, text)) throw_file_error("read", aside, failure);
  write_file_atomically(file, text);
  fs::remove(aside, ignored);
}

}  // namespace

void seize_run(const fs::path& run_directory, const fs::path& checkpoints) {
  std::error_code ignored;
  for (const fs::path& directory : {run_directory, checkpoints})
    fs::remove(directory / DirectoryLock::kFileName, ignored);
  for (const char* name : {"ledger.jsonl", "metrics.jsonl", "events.jsonl"}) seize_file(run_directory / name);
}

}  // namespace tenax::io
