#include "resilience/diagnosis/rank_reports.hpp"

#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

static_assert(std::is_trivially_copyable_v<RankReport>, "it travels as its bytes");

RankReport report_of_bytes(const std::string& bytes) {
  RankReport report;
  if (bytes.size() != sizeof report)
    throw kernels::Error(kernels::Scope::replica,
                         "looking for what is slow: a rank sent " + std::to_string(bytes.size()) +
                             " bytes instead of a report of " + std::to_string(sizeof report) +
                             ": do all ranks run the same build?");
  std::memcpy(&report, bytes.data(), sizeof report);
  return report;
}

}  // namespace

std::vector<RankReport> gather_reports(comm::ControlGroup& group, const RankReport& mine) {
  std::vector<RankReport> reports;
  for (const std::string& bytes : group.all_gather({reinterpret_cast<const char*>(&mine), sizeof mine}))
    reports.push_back(report_of_bytes(bytes));
  return reports;
}

}  // namespace tenax::resilience
