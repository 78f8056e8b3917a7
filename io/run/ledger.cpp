#include "io/run/ledger.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "io/posix_file.hpp"
#include "io/set_aside.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

fs::path ledger_of_run(const fs::path& run_directory) { return run_directory / "ledger.jsonl"; }

std::optional<fs::path> set_ledger_aside(const fs::path& run_directory) {
  return set_aside(ledger_of_run(run_directory));
}

LedgerReader::LedgerReader(const fs::path& file) : file_(file), chain_(chain_text("")) {
  PosixFile::open_to_read(file);  // says why it cannot be read; a pipe would be waited for
  stream_.open(file, std::ios::binary);
}

std::optional<LedgerRecord> LedgerReader::next() {
  std::string text;
  stream_.clear();  // the file may have grown since its end was read
  if (!std::getline(stream_, text)) return std::nullopt;
  ++line_;
  if (stream_.eof()) text += rest_of_line();
  LedgerLine line = parse(text);
  if (line.previous != chain_)
    fail("previous = \"" + line.previous + "\" is not the checksum of the line before, " + chain_ +
         ": one of the two was changed, or lines are missing");
  chain_ = chain_text(text);
  return std::move(line.record);
}

std::string LedgerReader::rest_of_line() {
  // Far more than one write(2) takes, also where its process waits for a processor.
  constexpr int kLooks = 100;
  constexpr std::chrono::milliseconds kBetween{10};
  std::string rest, part;
  for (int look = 0; look < kLooks; ++look) {
    std::this_thread::sleep_for(kBetween);
    stream_.clear();
    std::getline(stream_, part);
    rest += part;
    if (!stream_.eof()) return rest;
  }
  fail("the line is cut off");
}

LedgerLine LedgerReader::parse(const std::string& text) const {
  try {
    return parse_ledger_line(text);
  } catch (const kernels::Error& error) {
    fail(error.what());
  }
}

void LedgerReader::fail(const std::string& sentence) const {
  throw kernels::Error(kernels::Scope::rank, file_.string() + ":" + std::to_string(line_) + ": " + sentence);
}

namespace {

/// Of a ledger that is to go on.
std::optional<LedgerRecord> next_of(LedgerReader& reader) {
  try {
    return reader.next();
  } catch (const kernels::Error& error) {
    throw kernels::Error(error.scope(), std::string(error.what()) +
                                            "; move this ledger away, for a new one to begin, or mend it");
  }
}

}  // namespace

LedgerWriter::LedgerWriter(const fs::path& run_directory,
                           const std::function<void(const LedgerRecord&)>& take)
    : lines_(ledger_of_run(run_directory)) {
  LedgerReader reader(ledger_of_run(run_directory));
  while (const auto record = next_of(reader)) take(*record);
  chain_ = reader.chain();
}

void LedgerWriter::append(const LedgerRecord& record) {
  const std::string line = ledger_line(record, chain_);
  lines_.append(line);
  chain_ = chain_text(line);
}

}  // namespace tenax::io
