// What a supervisor is made of, from the deck, the ledger and what an earlier one has left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/launch/host_pool.hpp"
#include "app/supervisor/hang_watch.hpp"
#include "app/supervisor/supervised_replica.hpp"
#include "comm/transport/job_secret.hpp"
#include "io/deck/deck.hpp"
#include "resilience/membership/records.hpp"
#include "resilience/replicas/membership_server.hpp"

namespace tenax::app {

/// Of the service. `resolved_deck`: the text that every replica reads.
resilience::MembershipServer::Options service_options(const io::Deck& deck, const Build& build,
                                                      const std::string& resolved_deck, const HostPool& pool,
                                                      const comm::JobSecret& secret);

HangWatch::Options hang_options(const io::Deck& deck);
/// The deck's hosts; empty where it names none. Throws Error(rank) for too few slots.
HostPool host_pool(const io::Deck& deck);

/// All of the run, none of which runs. Incarnations are numbered on from those in `ledger`.
std::vector<SupervisedReplica> supervised_replicas(const io::Deck& deck, const std::string& run_id,
                                                   const HostPool& pool,
                                                   const std::vector<resilience::Record>& ledger);

/// The deck's warm spares, none of which runs. Incarnations count on from the time: what an earlier supervisor has started may
/// have become a replica.
std::vector<SupervisedReplica> supervised_spares(const io::Deck& deck, const std::string& run_id);

}  // namespace tenax::app
