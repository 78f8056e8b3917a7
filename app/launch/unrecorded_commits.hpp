// replica-K/commits: steps that a replica completed while no supervisor recorded them. It leaves them beside each checkpoint
// that it writes, and when it gives up waiting for one; the next supervisor adds them to the ledger.
#pragma once

#include <filesystem>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::app {

/// Replaces the file of this replica. Throws Error(rank).
void write_unrecorded(const std::filesystem::path& replica_directory,
                      const std::vector<resilience::CommitRecord>& commits);

/// Of these replicas, those that continue `ledger`, in order. What cannot be read is none.
std::vector<resilience::Record> read_unrecorded(const std::vector<std::filesystem::path>& replica_directories,
                                                const std::vector<resilience::Record>& ledger);

/// Once they are in the ledger, or cannot be.
void remove_unrecorded(const std::vector<std::filesystem::path>& replica_directories);

}  // namespace tenax::app
