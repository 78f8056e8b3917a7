#include "comm/monitor/mpi_size.hpp"

namespace tenax::comm::monitor {

std::int64_t ranks_of(MPI_Comm comm) {
  int ranks = 0;
  if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &ranks);
  return ranks;
}

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size_x(type, &bytes);
  return count * bytes;
}

std::int64_t sum_of(const int* counts, MPI_Comm comm) {
  int joins_two = 0, ranks = 0;
  PMPI_Comm_test_inter(comm, &joins_two);
  joins_two ? PMPI_Comm_remote_size(comm, &ranks) : PMPI_Comm_size(comm, &ranks);
  std::int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += counts[rank];
  return sum;
}

std::int64_t own_of(const int* counts, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return counts[rank];
}

}  // namespace tenax::comm::monitor
