#include "resilience/link_faults.hpp"

#include <algorithm>
#include <chrono>

namespace tenax::resilience {
namespace {

/// Longer delays end in a deadline anyway; the clock's numbers would overflow.
constexpr double kMaxDelay_s = 1e6;

std::vector<std::pair<int, int>> links_of(const io::InjectEntry& entry, const parallel::ProcessGrid& grid) {
  if (!entry.ranks.empty()) return {{static_cast<int>(entry.ranks[0]), static_cast<int>(entry.ranks[1])}};
  std::vector<std::pair<int, int>> links;
  for (int data = 0; data < grid.shape().data; ++data) {
    if (entry.data >= 0 && entry.data != data) continue;
    for (int tensor = 0; tensor < grid.shape().tensor; ++tensor) {
      const auto rank_at = [&](std::int64_t stage) {
        return grid.rank_of({tensor, static_cast<int>(stage), data});
      };
      links.emplace_back(rank_at(entry.stages[0]), rank_at(entry.stages[1]));
    }
  }
  return links;
}

LinkFault bind(const io::InjectEntry& entry, const parallel::ProcessGrid& grid, int microbatches) {
  constexpr double kMillisecond_s = 1e-3;
  LinkFault fault;
  fault.links = links_of(entry, grid);
  fault.from_step = entry.from_step;
  fault.to_step = entry.to_step;
  fault.delay_s = entry.delay_ms * kMillisecond_s;
  fault.per_packet_s = entry.per_packet_ms * kMillisecond_s;
  fault.packet_bytes = static_cast<std::uint64_t>(entry.packet_bytes);
  if (!entry.trace.empty())
    fault.trace = std::make_shared<const io::DelayTrace>(io::read_delay_trace(entry.trace));
  if (entry.kind == "link_down") fault.down_path = entry.path;
  if (fault.down_path == "direct") fault.passing = microbatches;
  return fault;
}

}  // namespace

bool LinkFault::joins(int a, int b) const {
  return std::any_of(links.begin(), links.end(),
                     [&](const auto& link) { return link == std::pair(a, b) || link == std::pair(b, a); });
}

double LinkFault::message_delay_s(std::uint64_t bytes, double run_s) const {
  double seconds = delay_s;
  if (packet_bytes > 0) {
    const std::uint64_t packets = bytes / packet_bytes + (bytes % packet_bytes == 0 ? 0 : 1);
    seconds += per_packet_s * static_cast<double>(std::max<std::uint64_t>(packets, 1));
  }
  if (trace) seconds += trace->delay_ms_at(run_s) * 1e-3;
  return seconds;
}

std::vector<LinkFault> bind_faults(const std::vector<io::InjectEntry>& entries,
                                   const parallel::ProcessGrid& grid, int microbatches) {
  std::vector<LinkFault> faults;
  for (const auto& entry : entries) faults.push_back(bind(entry, grid, microbatches));
  return faults;
}

// Addresses are KIND:PLACE#IDENTITY, of TCP KIND:HOST:PORT#IDENTITY with an IPv6 host in brackets.
bool path_means(std::string_view path, std::string_view address) {
  address = address.substr(0, address.find('#'));
  const auto colon = address.find(':');
  if (path.empty() || address.empty()) return false;
  const std::string_view place = address.substr(colon + 1);
  const std::string_view host = place.substr(0, place.rfind(':'));
  const bool in_brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  return path == address || path == address.substr(0, colon) || path == place || path == host ||
         path == address.substr(0, address.rfind(':')) ||
         (in_brackets && path == host.substr(1, host.size() - 2));
}

void LinkFaults::begin_step(std::int64_t step) {
  if (step_ < 0) began_ = Clock::now().time_since_epoch().count();
  for (Count& count : passed_) count.sent = count.received = 0;
  step_ = step;
}

bool LinkFaults::concern(int rank, int peer) const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [&](const LinkFault& fault) { return fault.joins(rank, peer); });
}

bool LinkFaults::delay_some(int rank, int peer) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const LinkFault& fault) {
    return fault.down_path.empty() && fault.joins(rank, peer);
  });
}

LinkFaults::Clock::duration LinkFaults::delay(int rank, int peer, std::uint64_t bytes,
                                              Clock::time_point sent) const {
  const std::int64_t step = step_;
  const auto since_began = sent.time_since_epoch() - Clock::duration(began_);
  const double run_s = std::chrono::duration<double>(since_began).count();
  double seconds = 0;
  for (const LinkFault& fault : faults_)
    if (step >= 0 && fault.holds_at(step) && fault.joins(rank, peer))
      seconds += fault.message_delay_s(bytes, run_s);
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMaxDelay_s)));
}

bool LinkFaults::is_down(int rank, int peer, Way way) const {
  const std::int64_t step = step_;
  if (step < 0) return false;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const LinkFault& fault = faults_[i];
    if (fault.down_path.empty() || !fault.holds_at(step) || !fault.joins(rank, peer)) continue;
    if (fault.down_path == "direct" ? way.direct && has_begun(i, step)
                                    : path_means(fault.down_path, way.address))
      return true;
  }
  return false;
}

// What one end has sent may not have come far before the other hears of the cut: what it has received has.
bool LinkFaults::has_begun(std::size_t fault, std::int64_t step) const {
  const Count& count = passed_[fault];
  const std::int64_t passing = faults_[fault].passing;
  return step > faults_[fault].from_step || passing == 0 ||
         (count.received > 0 && count.sent + count.received >= passing);
}

void LinkFaults::count_direct(int rank, int peer, Passed how) {
  for (std::size_t i = 0; i < faults_.size(); ++i)
    if (faults_[i].joins(rank, peer)) ++(how == Passed::sent ? passed_[i].sent : passed_[i].received);
}

}  // namespace tenax::resilience
