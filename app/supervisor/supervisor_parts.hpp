// What a supervisor is made of, from the deck, the ledger and what an earlier one has left.
#pragma once

#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/supervisor/supervised_replica.hpp"
#include "comm/transport/job_secret.hpp"
#include "io/deck/deck.hpp"
#include "resilience/membership/records.hpp"
#include "resilience/replicas/membership_server.hpp"

namespace tenax::app {

/// Of the service. `resolved_deck`: the text that every replica reads.
resilience::MembershipServer::Options service_options(const io::Deck& deck, const Build& build,
                                                      const std::string& resolved_deck,
                                                      const comm::JobSecret& secret);

/// All of the run, none of which runs. Incarnations are numbered on from those in `ledger`.
std::vector<SupervisedReplica> supervised_replicas(const io::Deck& deck, const std::string& run_id,
                                                   const std::vector<resilience::Record>& ledger);

/// The commits that no later line has made void.
std::vector<resilience::CommitRecord> commits_that_count(const std::vector<resilience::Record>& ledger);

}  // namespace tenax::app
