#include <cstdlib>
#include <initializer_list>

#include "comm/launch.hpp"
#include "comm/world.hpp"

namespace tenax::comm {

/// mpirun and srun --mpi=pmix|pmi2 leave their mark in the environment. Slurm sets SLURM_PROCID in a batch
/// script's shell too, but there the step has a number above any that srun gives out.
bool launched_by_mpi() {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(mark) != nullptr) return true;
  const char* step = std::getenv("SLURM_STEP_ID");
  if (step == nullptr || std::getenv("SLURM_PROCID") == nullptr) return false;
  constexpr unsigned long kFirstSpecialStep = 0xfffffff0UL;  // batch, external and interactive steps
  return std::strtoul(step, nullptr, 10) < kFirstSpecialStep;
}

int launched_rank() {
  if (!launched_by_mpi()) return -1;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return static_cast<int>(std::strtol(rank, nullptr, 10));
  return -1;
}

}  // namespace tenax::comm
