#include "comm/monitor/process_rank.hpp"

#include <mpi.h>

#include <cstdlib>
#include <initializer_list>

namespace tenax::comm::monitor {
namespace {

int started_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name); rank && *rank) return std::atoi(rank);
  return 0;
}

}  // namespace

int process_rank() {
  int is_begun = 0, is_over = 0, rank = 0;
  PMPI_Initialized(&is_begun);
  PMPI_Finalized(&is_over);
  if (!is_begun || is_over) return started_rank();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace tenax::comm::monitor
