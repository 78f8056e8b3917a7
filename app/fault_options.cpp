#include "app/fault_options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <variant>

#include "app/units.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

using resilience::FaultRequest;
using resilience::PeerFaults;
using resilience::ReplicaFaultRequest;

bool is_of_links(const io::InjectEntry& entry) {
  return entry.kind == io::FaultKind::link_delay || entry.kind == io::FaultKind::link_down;
}

resilience::FaultWindow window_of(const io::InjectEntry& entry) {
  return {.from_step = entry.from_step, .to_step = entry.to_step, .from_s = entry.from_s, .to_s = entry.to_s};
}

FaultRequest link_request(const io::InjectEntry& entry) {
  FaultRequest request{.window = window_of(entry),
                       .stages = {entry.stages.begin(), entry.stages.end()},
                       .ranks = {entry.ranks.begin(), entry.ranks.end()},
                       .data = static_cast<int>(entry.data),
                       .delay_s = entry.delay_ms * kSecondsPerMs,
                       .gbps = entry.gbps,
                       .per_packet_s = entry.per_packet_ms * kSecondsPerMs,
                       .packet_bytes = static_cast<std::uint64_t>(entry.packet_bytes)};
  request.trace = entry.trace;
  if (entry.kind == io::FaultKind::link_down) request.down_path = entry.path;
  return request;
}

bool is_direct(const io::InjectEntry& entry) {
  return entry.kind == io::FaultKind::link_down && entry.path == "direct";
}

/// Of a kind of connections, or the direct one, there need be none.
bool is_of_address(const io::InjectEntry& entry) {
  return entry.kind == io::FaultKind::link_down && entry.path != "direct" && entry.path != "tcp" &&
         entry.path != "shm" && entry.path != "verbs";
}

bool are_neighbours(const parallel::ProcessGrid& grid, int a, int b) {
  const parallel::GridCoordinates at = grid.coordinates_of(a), other = grid.coordinates_of(b);
  return at.tensor == other.tensor && at.data == other.data && std::abs(at.pipeline - other.pipeline) == 1;
}

bool share_group(const parallel::ProcessGrid& grid, int a, int b) {
  using parallel::GroupKind;
  const std::array kinds = {GroupKind::tensor, GroupKind::data, GroupKind::embedding};
  return std::any_of(kinds.begin(), kinds.end(), [&](GroupKind kind) {
    const std::vector<int> group = grid.group(kind, a);
    return std::find(group.begin(), group.end(), b) != group.end();
  });
}

resilience::ComputeFault compute_fault(const io::InjectEntry& entry) {
  resilience::ComputeFault fault{.window = window_of(entry), .factor = entry.factor, .trace = nullptr};
  if (!entry.trace.empty())
    fault.trace =
        std::make_shared<const io::FaultTrace>(io::read_fault_trace(entry.trace, io::kTracedFactor));
  return fault;
}

resilience::StepPoint step_point(io::FaultPoint point) {
  using resilience::StepPoint;
  switch (point) {
    case io::FaultPoint::exchange:
      return StepPoint::exchange;
    case io::FaultPoint::vote:
      return StepPoint::vote;
    case io::FaultPoint::update:
      return StepPoint::update;
    case io::FaultPoint::commit:
      return StepPoint::commit;
    case io::FaultPoint::state_send:
      return StepPoint::state_send;
    case io::FaultPoint::state_receive:
      return StepPoint::state_receive;
    case io::FaultPoint::join:
      return StepPoint::join;
    case io::FaultPoint::checkpoint:
      return StepPoint::checkpoint;
    case io::FaultPoint::passes:
      break;
  }
  return StepPoint::passes;
}

ReplicaFaultRequest::Process process_request(const io::InjectEntry& entry) {
  return {.replica = static_cast<int>(entry.replica),
          .rank = entry.rank < 0 ? ReplicaFaultRequest::kLauncher : static_cast<int>(entry.rank),
          .point = step_point(entry.point),
          .stops = entry.signal == io::FaultSignal::stop,
          .stop_s = entry.stop_s};
}

ReplicaFaultRequest::Dark dark_request(const io::InjectEntry& entry) {
  if (entry.service) return {static_cast<int>(entry.replica), PeerFaults::kService, entry.seconds};
  return {static_cast<int>(entry.replicas[0]), static_cast<int>(entry.replicas[1]), entry.seconds};
}

std::variant<ReplicaFaultRequest::Process, ReplicaFaultRequest::Dark> what_of(const io::InjectEntry& entry) {
  if (entry.kind == io::FaultKind::process) return process_request(entry);
  return dark_request(entry);
}

}  // namespace

std::vector<FaultRequest> link_fault_requests(const io::Deck& deck) {
  std::vector<FaultRequest> requests;
  for (const io::InjectEntry& entry : deck.inject)
    if (is_of_links(entry) && entry.replicas.empty()) requests.push_back(link_request(entry));
  return requests;
}

std::vector<resilience::LinkFault> peer_delays(const io::Deck& deck) {
  std::vector<FaultRequest> requests;
  for (const io::InjectEntry& entry : deck.inject) {
    if (!is_of_links(entry) || entry.replicas.empty()) continue;
    requests.push_back(link_request(entry));
    requests.back().ranks = {entry.replicas.begin(), entry.replicas.end()};
  }
  return resilience::bind_faults(requests, parallel::ProcessGrid(parallel::GridShape{}), 1);
}

std::vector<resilience::ComputeFault> compute_faults(const io::Deck& deck, int replica, int rank) {
  std::vector<resilience::ComputeFault> faults;
  for (const io::InjectEntry& entry : deck.inject) {
    const bool is_here = entry.rank == rank && (entry.replica < 0 || entry.replica == replica);
    if (entry.kind == io::FaultKind::slow_compute && is_here) faults.push_back(compute_fault(entry));
  }
  return faults;
}

std::vector<std::string> faults_without_launch(const io::Deck& deck) {
  using Kind = io::FaultKind;
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const auto& kind = deck.inject[i].kind;
    if (kind == Kind::process || kind == Kind::partition || kind == Kind::hang || kind == Kind::bit_flip)
      warnings.push_back("inject." + std::to_string(i) +
                         " is a fault of a replica, which only tenax launch injects: it has no effect here");
  }
  return warnings;
}

std::vector<std::string> faults_without_link(const io::Deck& deck) {
  const io::ParallelSection& sizes = deck.parallel;
  const parallel::ProcessGrid grid({.tensor = static_cast<int>(sizes.tensor_parallel_size),
                                    .pipeline = static_cast<int>(sizes.pipeline_parallel_size),
                                    .data = static_cast<int>(sizes.data_parallel_size)});
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const io::InjectEntry& entry = deck.inject[i];
    if (!is_of_links(entry) || entry.ranks.empty()) continue;
    const int a = static_cast<int>(entry.ranks[0]), b = static_cast<int>(entry.ranks[1]);
    if (are_neighbours(grid, a, b) || (!is_direct(entry) && share_group(grid, a, b))) continue;
    warnings.push_back("inject." + std::to_string(i) + format(": ranks %d and %d are ", a, b) +
                       (is_direct(entry)
                            ? "no neighbours in a pipeline"
                            : "in no common tensor or data group and no neighbours in a pipeline") +
                       ": it has no effect unless ranks change places");
  }
  return warnings;
}

std::vector<std::string> faults_without_path(const io::Deck& deck, const std::vector<comm::Peer>& ranks) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const std::string& path = deck.inject[i].path;
    const auto has_path = [&](const comm::Peer& rank) {
      return std::any_of(rank.addresses.begin(), rank.addresses.end(),
                         [&](const std::string& address) { return resilience::path_means(path, address); });
    };
    if (!is_of_address(deck.inject[i]) || std::any_of(ranks.begin(), ranks.end(), has_path)) continue;
    warnings.push_back("inject." + std::to_string(i) + ".path = \"" + path +
                       "\" is no address that a rank of this run is connected by: it has no effect here");
  }
  return warnings;
}

std::vector<resilience::HangFault> hang_faults(const io::Deck& deck, const resilience::FaultSeat& seat) {
  using Where = resilience::HangFault::Where;
  std::vector<resilience::HangFault> faults;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const io::InjectEntry& entry = deck.inject[i];
    if (entry.kind != io::FaultKind::hang || entry.replica != seat.replica || entry.rank != seat.rank)
      continue;
    const Where where = entry.where == io::HangPlace::pass              ? Where::pass
                        : entry.where == io::HangPlace::skip_collective ? Where::collective
                                                                        : Where::connection;
    faults.push_back(
        {.occasion = resilience::fault_occasion(static_cast<int>(i), window_of(entry), entry.repeat, seat),
         .where = where});
  }
  return faults;
}

void check_bit_flips(const io::Deck& deck) {
  const std::vector<io::NamedShape> parameters = io::gpt2_parameters(deck.model);
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const io::InjectEntry& entry = deck.inject[i];
    if (entry.kind != io::FaultKind::bit_flip) continue;
    const std::string name = "inject." + std::to_string(i);
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const io::NamedShape& it) { return it.name == entry.tensor; });
    if (found == parameters.end())
      throw kernels::Error(
          kernels::Scope::usage,
          name + ".tensor = \"" + entry.tensor + "\" is no parameter of the model, as \"wte.weight\" is");
    if (entry.element >= found->shape.size())
      throw kernels::Error(kernels::Scope::usage, name + ".element = " + std::to_string(entry.element) +
                                                      " is outside of " + entry.tensor + ": it has " +
                                                      std::to_string(found->shape.size()) +
                                                      " elements, counted from 0");
  }
}

std::vector<resilience::BitFlipRequest> bit_flip_requests(const io::Deck& deck,
                                                          const resilience::FaultSeat& seat) {
  std::vector<resilience::BitFlipRequest> requests;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const io::InjectEntry& entry = deck.inject[i];
    if (entry.kind != io::FaultKind::bit_flip || entry.replica != seat.replica || entry.rank != seat.rank)
      continue;
    requests.push_back({.entry = static_cast<int>(i),
                        .window = window_of(entry),
                        .repeats = entry.repeat,
                        .tensor = entry.tensor,
                        .part = entry.part,
                        .element = entry.element,
                        .bit = entry.bit,
                        .seed = static_cast<std::uint64_t>(deck.run.seed)});
  }
  return requests;
}

std::vector<ReplicaFaultRequest> replica_fault_requests(const io::Deck& deck) {
  std::vector<ReplicaFaultRequest> requests;
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const io::InjectEntry& entry = deck.inject[i];
    if (entry.kind != io::FaultKind::process && entry.kind != io::FaultKind::partition) continue;
    requests.push_back({.entry = static_cast<int>(i),
                        .window = window_of(entry),
                        .repeats = entry.repeat,
                        .what = what_of(entry)});
  }
  return requests;
}

}  // namespace tenax::app
