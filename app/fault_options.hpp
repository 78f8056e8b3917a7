// From a deck's [[inject]] entries to what goes wrong.
#pragma once

#include <vector>

#include "comm/connection.hpp"
#include "io/deck/deck.hpp"
#include "resilience/faults/bit_flips.hpp"
#include "resilience/faults/compute_faults.hpp"
#include "resilience/faults/hang_faults.hpp"
#include "resilience/faults/link_faults.hpp"
#include "resilience/faults/replica_fault_injector.hpp"

namespace tenax::app {

/// Of links between the ranks of a replica.
std::vector<resilience::FaultRequest> link_fault_requests(const io::Deck& deck);
/// Of links between replicas, by the numbers of these. Throws Error(rank) for a trace that cannot be read.
std::vector<resilience::LinkFault> peer_delays(const io::Deck& deck);
/// Of the device of one rank. Throws Error(rank) for a trace that cannot be read.
std::vector<resilience::ComputeFault> compute_faults(const io::Deck& deck, int replica, int rank);
/// What to say of faults of replicas in a run without `tenax launch`, which has none.
std::vector<std::string> faults_without_launch(const io::Deck& deck);
/// What to say of faults of links between ranks that have no link of the kind, as they are placed at launch.
std::vector<std::string> faults_without_link(const io::Deck& deck);
/// What to say of paths that are down by an address which none of the ranks has.
std::vector<std::string> faults_without_path(const io::Deck& deck, const std::vector<comm::Peer>& ranks);
/// What makes one rank hang.
std::vector<resilience::HangFault> hang_faults(const io::Deck& deck, const resilience::FaultSeat& seat);
/// Throws Error(usage) where the model does not have what a bit_flip is to strike.
void check_bit_flips(const io::Deck& deck);
/// Of the state and the gradients of one rank.
std::vector<resilience::BitFlipRequest> bit_flip_requests(const io::Deck& deck,
                                                          const resilience::FaultSeat& seat);
/// Of processes, and of links that are dark.
std::vector<resilience::ReplicaFaultRequest> replica_fault_requests(const io::Deck& deck);

}  // namespace tenax::app
