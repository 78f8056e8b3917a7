// What the environment says of how this process was started, before MPI is.
#pragma once

namespace tenax::comm {

/// The number that mpirun or srun gave this process; -1 where neither started it.
int launched_rank();

}  // namespace tenax::comm
