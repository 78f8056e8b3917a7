#include "resilience/replay/replay_record.hpp"

#include <fstream>

#include "io/checksum.hpp"
#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using nlohmann::json;

namespace {

constexpr const char* kPoints[] = {"update", "commit"};
constexpr std::size_t kDigits = 16;  // of a checksum

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw kernels::Error(kernels::Scope::rank, file.string() + " is not what a rank of a replay writes");
}

ReplayRank rank_of(const json& line) {
  return {.rank = line.at("rank").get<int>(),
          .host = line.at("host").get<std::string>(),
          .stage = line.at("stage").get<int>(),
          .tensors = line.at("tensors").get<std::vector<std::string>>(),
          .parts = line.at("parts").get<std::vector<std::string>>()};
}

ReplayMoment moment_of(const json& line) {
  const auto digits = line.at("sums").get<std::string>();
  const auto point = line.at("point").get<std::string>();
  ReplayMoment moment{.step = line.at("step").get<std::int64_t>(),
                      .point = point == kPoints[0] ? ReplayPoint::update : ReplayPoint::commit,
                      .sums = {}};
  for (std::size_t at = 0; at < digits.size(); at += kDigits)
    moment.sums.push_back(io::parse_checksum(digits.substr(at, kDigits)));
  return moment;
}

json line_of(const std::string& text, const std::filesystem::path& file) {
  io::ParsedJson parsed = io::parse_json(text);
  if (!parsed.fault.empty() || !parsed.value.is_object()) refuse(file);
  return std::move(parsed.value);
}

ReplayRecord read_record(const std::filesystem::path& path) try {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text)) refuse(path);
  ReplayRecord record{.rank = rank_of(line_of(text, path)), .moments = {}};
  while (std::getline(file, text)) {
    record.moments.push_back(moment_of(line_of(text, path)));
    if (record.moments.back().sums.size() != record.rank.tensors.size() * record.rank.parts.size())
      refuse(path);
  }
  return record;
} catch (const json::exception&) {
  refuse(path);
}

}  // namespace

std::string text_of(const ReplayRank& rank) {
  return io::JsonObject{}
      .add("rank", rank.rank)
      .add("host", rank.host)
      .add("stage", rank.stage)
      .add("tensors", rank.tensors)
      .add("parts", rank.parts)
      .text();
}

std::string text_of(const ReplayMoment& moment) {
  std::string sums;
  for (const std::uint64_t sum : moment.sums) sums += io::checksum_text(sum);
  return io::JsonObject{}
      .add("step", moment.step)
      .add("point", kPoints[static_cast<int>(moment.point)])
      .add("sums", sums)
      .text();
}

std::filesystem::path replay_file(const std::filesystem::path& folder, int rank) {
  return folder / ("rank-" + std::to_string(rank) + ".jsonl");
}

std::vector<ReplayRecord> read_replay(const std::filesystem::path& folder, int ranks) {
  std::vector<ReplayRecord> records;
  for (int rank = 0; rank < ranks; ++rank) records.push_back(read_record(replay_file(folder, rank)));
  return records;
}

}  // namespace tenax::resilience
