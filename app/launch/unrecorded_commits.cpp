#include "app/launch/unrecorded_commits.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <system_error>
#include <variant>

#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "resilience/membership/committed_steps.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using resilience::CommitRecord;

namespace {

constexpr const char* kFileName = "commits";

void read(const fs::path& file, std::vector<CommitRecord>& commits) {
  std::string text;
  io::read_text_file(file, text);
  std::istringstream lines(text);
  try {
    for (std::string line; std::getline(lines, line);)
      if (auto message = resilience::parse_member_message(line);
          auto* commit = std::get_if<resilience::Commit>(&message))
        commits.push_back(std::move(commit->record));
  } catch (const kernels::Error&) {  // of another version
  }
}

}  // namespace

void write_unrecorded(const fs::path& replica_directory, const std::vector<CommitRecord>& commits) {
  std::string text;
  for (const CommitRecord& commit : commits) text += resilience::to_text(resilience::Commit{commit}) + '\n';
  io::write_file_atomically(replica_directory / kFileName, text);
}

// Several replicas may have completed the same steps, one of them some more.
std::vector<resilience::Record> read_unrecorded(const std::vector<fs::path>& replica_directories,
                                                const std::vector<resilience::Record>& ledger) {
  resilience::CommittedSteps steps;
  for (const resilience::Record& record : ledger) steps.add(record);
  std::vector<CommitRecord> commits;
  for (const fs::path& directory : replica_directories) read(directory / kFileName, commits);
  std::stable_sort(commits.begin(), commits.end(),
                   [](const CommitRecord& a, const CommitRecord& b) { return a.step < b.step; });
  std::vector<resilience::Record> records;
  for (CommitRecord& commit : commits) {
    if (!steps.fault(commit).empty()) continue;
    records.push_back(std::move(commit));
    steps.add(records.back());
  }
  return records;
}

void remove_unrecorded(const std::vector<fs::path>& replica_directories) {
  std::error_code ignored;
  for (const fs::path& directory : replica_directories) fs::remove(directory / kFileName, ignored);
}

}  // namespace tenax::app
