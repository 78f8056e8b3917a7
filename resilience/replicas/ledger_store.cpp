#include "resilience/replicas/ledger_store.hpp"

#include <utility>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

io::LedgerCommit to_line(const CommitRecord& record) {
  io::LedgerCommit line{.step = record.step,
                        .epoch = record.epoch,
                        .first_sample = record.first_sample,
                        .samples = count_samples(record.parts),
                        .parts = {},
                        .loss = record.loss,
                        .grad_norm = record.grad_norm,
                        .lr = record.lr,
                        .squares = record.squares};
  if (record.digest) line.digest = record.digest->checksum();
  for (const Part& part : record.parts) line.parts.push_back({part.replica, part.first, part.count});
  return line;
}

io::LedgerEpoch to_line(const EpochRecord& record) {
  io::LedgerEpoch line{
      .epoch = record.epoch, .from_step = record.from_step, .members = {}, .reason = name_of(record.reason)};
  for (const EpochRecord::Member& member : record.members)
    line.members.push_back({member.id.replica, member.id.incarnation, member.host});
  return line;
}

io::LedgerVoid to_line(const VoidRecord& record) {
  return {.void_from = record.void_from, .epoch = record.epoch};
}

CommitRecord of_line(const io::LedgerCommit& line) {
  CommitRecord record{.step = line.step,
                      .epoch = line.epoch,
                      .first_sample = line.first_sample,
                      .parts = {},
                      .loss = line.loss,
                      .grad_norm = line.grad_norm,
                      .lr = line.lr,
                      .squares = line.squares};
  if (line.digest) record.digest.emplace().parts[0].sum = *line.digest;
  for (const auto& part : line.parts)
    record.parts.push_back({static_cast<int>(part.replica), part.first, part.count});
  return record;
}

EpochRecord of_line(const io::LedgerEpoch& line) {
  EpochRecord record{.epoch = line.epoch, .from_step = line.from_step, .members = {}};
  for (const auto& member : line.members)
    record.members.push_back(
        {{static_cast<int>(member.replica), static_cast<int>(member.incarnation)}, member.host});
  for (const EpochReason reason : kEpochReasons)
    if (line.reason == name_of(reason)) record.reason = reason;
  return record;
}

VoidRecord of_line(const io::LedgerVoid& line) { return {.void_from = line.void_from, .epoch = line.epoch}; }

}  // namespace

io::LedgerRecord to_ledger(const Record& record) {
  return std::visit([](const auto& what) { return io::LedgerRecord{what.time, to_line(what)}; }, record);
}

Record of_ledger(const io::LedgerRecord& record) {
  return std::visit(
      [&](const auto& line) -> Record {
        auto what = of_line(line);
        what.time = record.time_s;
        return what;
      },
      record.what);
}

std::vector<Record> read_ledger(const std::filesystem::path& run_directory, double since_s) {
  std::vector<Record> records;
  const std::filesystem::path file = io::ledger_of_run(run_directory);
  if (!std::filesystem::exists(file)) return records;
  try {
    io::LedgerReader reader(file);
    while (const auto line = reader.next())
      if (line->time_s >= since_s) records.push_back(of_ledger(*line));
  } catch (const kernels::Error&) {  // `tenax audit` tells what is wrong with it
  }
  return records;
}

LedgerStore::LedgerStore(const std::filesystem::path& run_directory)
    : writer_(run_directory, [this](const io::LedgerRecord& line) { found_.push_back(of_ledger(line)); }) {}

bool LedgerStore::append(const std::vector<Record>& records) {
  for (const Record& record : records) writer_.append(to_ledger(record));
  return true;
}

}  // namespace tenax::resilience
