#include "io/run/metrics_difference.hpp"

#include <cmath>
#include <set>

#include "io/json.hpp"
#include "io/json_parse.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

/// Numbers as the ledger and the metrics write them; null where one is not finite.
std::string shown_number(double value) { return std::isfinite(value) ? number_text(value) : "null"; }

std::string difference(const json& line, const char* name, double expected) {
  const auto found = line.find(name);
  const json said = found == line.end() ? json("nothing") : *found;
  const bool agrees =
      std::isfinite(expected) ? said.is_number() && said.get<double>() == expected : said.is_null();
  if (agrees) return {};
  return std::string(name) + " = " + shown(said) + ", the ledger " + shown_number(expected);
}

double contributing(const LedgerCommit& commit) {
  std::set<std::int64_t> replicas;
  for (const LedgerCommit::Part& part : commit.parts) replicas.insert(part.replica);
  return static_cast<double>(replicas.size());
}

}  // namespace

std::string metrics_difference(const json& line, const LedgerCommit& commit, std::int64_t seq_length) {
  const auto tokens = static_cast<double>(commit.samples) * static_cast<double>(seq_length);
  for (const auto& [name, expected] : {std::pair{"loss", commit.loss},
                                       {"grad_norm", commit.grad_norm},
                                       {"lr", commit.lr},
                                       {"replicas", contributing(commit)},
                                       {"tokens", tokens}})
    if (auto found = difference(line, name, expected); !found.empty()) return found;
  return {};
}

}  // namespace tenax::io
