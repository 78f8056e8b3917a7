// Whether MPI's messages pass one another. A receive that is posted must be served though earlier messages of the same
// sender still wait for theirs: MPI promises it (MPI-4.1, 3.5, "Progress"), tenax relies on it, not every library below MPI
// does it.
#pragma once

#include <mpi.h>

namespace tenax::comm {

/// Collective, once all ranks of `communicator` have met: the same answer on every rank, within milliseconds where messages
/// do pass and half a minute where they do not. Throws Error(job) if a rank does not answer for `deadline_s`.
bool messages_overtake(MPI_Comm communicator, double deadline_s);

}  // namespace tenax::comm
