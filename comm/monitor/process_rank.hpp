// The rank by which a process's log is called.
#pragma once

namespace tenax::comm::monitor {

/// In MPI_COMM_WORLD while MPI is initialised. Else what the program was started with: RANK
/// (torchrun), OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID, and 0 without any.
int process_rank();

}  // namespace tenax::comm::monitor
