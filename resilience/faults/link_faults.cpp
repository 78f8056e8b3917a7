#include "resilience/faults/link_faults.hpp"

#include <algorithm>
#include <chrono>

namespace tenax::resilience {
namespace {

/// Longer delays end in a deadline anyway; the clock's numbers would overflow.
constexpr double kMaxDelay_s = 1e6;

constexpr std::string_view kDirectPath = "direct";

std::vector<std::pair<int, int>> links_of(const FaultRequest& request, const parallel::ProcessGrid& grid) {
  if (!request.ranks.empty()) return {{request.ranks[0], request.ranks[1]}};
  std::vector<std::pair<int, int>> links;
  for (int data = 0; data < grid.shape().data; ++data) {
    if (request.data >= 0 && request.data != data) continue;
    for (int tensor = 0; tensor < grid.shape().tensor; ++tensor)
      links.emplace_back(grid.rank_of({tensor, request.stages[0], data}),
                         grid.rank_of({tensor, request.stages[1], data}));
  }
  return links;
}

LinkFault bind(const FaultRequest& request, const parallel::ProcessGrid& grid, int microbatches) {
  LinkFault fault;
  fault.links = links_of(request, grid);
  fault.window = request.window;
  fault.delay_s = request.delay_s;
  fault.gbps = request.gbps;
  fault.per_packet_s = request.per_packet_s;
  fault.packet_bytes = request.packet_bytes;
  if (!request.trace.empty())
    fault.trace =
        std::make_shared<const io::FaultTrace>(io::read_fault_trace(request.trace, io::kTracedDelay));
  fault.down_path = request.down_path;
  if (fault.down_path == kDirectPath) fault.passing = microbatches;
  return fault;
}

}  // namespace

bool LinkFault::joins(int a, int b) const {
  return std::any_of(links.begin(), links.end(),
                     [&](const auto& link) { return link == std::pair(a, b) || link == std::pair(b, a); });
}

double LinkFault::message_delay_s(std::uint64_t bytes, double run_s) const {
  double seconds = delay_s;
  if (gbps > 0) seconds += 8 * static_cast<double>(bytes) / (gbps * 1e9);
  if (packet_bytes > 0) {
    const std::uint64_t packets = bytes / packet_bytes + (bytes % packet_bytes == 0 ? 0 : 1);
    seconds += per_packet_s * static_cast<double>(std::max<std::uint64_t>(packets, 1));
  }
  if (trace) seconds += trace->value_at(run_s) * 1e-3;
  return seconds;
}

std::vector<LinkFault> bind_faults(const std::vector<FaultRequest>& requests,
                                   const parallel::ProcessGrid& grid, int microbatches) {
  std::vector<LinkFault> faults;
  for (const FaultRequest& request : requests) faults.push_back(bind(request, grid, microbatches));
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
  for (Count& count : passed_) count.sent = count.received = 0;
  clock_.begin_step(step);
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
  const double run_s = clock_.run_s(sent);
  double seconds = 0;
  for (const LinkFault& fault : faults_)
    if (clock_.is_within(fault.window, sent) && fault.joins(rank, peer))
      seconds += fault.message_delay_s(bytes, run_s);
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMaxDelay_s)));
}

bool LinkFaults::is_down(int rank, int peer, Way way) const {
  const std::int64_t step = clock_.step();
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const LinkFault& fault = faults_[i];
    if (fault.down_path.empty() || !clock_.is_within(fault.window) || !fault.joins(rank, peer)) continue;
    if (fault.down_path == kDirectPath ? way.direct && has_begun(i, step)
                                       : path_means(fault.down_path, way.address))
      return true;
  }
  return false;
}

// What one end has sent may not have come far before the other hears of the cut: what it has received has.
bool LinkFaults::has_begun(std::size_t fault, std::int64_t step) const {
  const Count& count = passed_[fault];
  const std::int64_t passing = faults_[fault].passing;
  return step > faults_[fault].window.from_step || passing == 0 ||
         (count.received > 0 && count.sent + count.received >= passing);
}

void LinkFaults::count_direct(int rank, int peer, Passed how) {
  for (std::size_t i = 0; i < faults_.size(); ++i)
    if (faults_[i].joins(rank, peer)) ++(how == Passed::sent ? passed_[i].sent : passed_[i].received);
}

}  // namespace tenax::resilience
