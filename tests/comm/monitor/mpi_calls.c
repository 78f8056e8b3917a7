// Two ranks call what libtenax_monitor.so records, each function with bytes of its own, and what it does not.
#include <mpi.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRanks = 2 };

static double in[64], out[64];
static const int counts[kRanks] = {1, 2}, places[kRanks] = {0, 1};

static void exchange_messages(int other) {
  MPI_Request requests[2];
  MPI_Irecv(in, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 2, MPI_CHAR, other, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(out, 3, MPI_INT, other, 0, in, 4, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (other == 1) MPI_Send(out, 5, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
  if (other == 0) MPI_Recv(in, 6, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call_reductions(void) {
  MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, in, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(out, in, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(out, in, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_gathers(int rank) {
  MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Gather(out, 3, MPI_DOUBLE, in, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gatherv(rank ? out : MPI_IN_PLACE, rank ? 2 : -1, rank ? MPI_DOUBLE : MPI_DATATYPE_NULL, in, counts, places,
              rank ? MPI_DATATYPE_NULL : MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Scatter(rank ? NULL : out, rank ? -1 : 5, rank ? MPI_DATATYPE_NULL : MPI_DOUBLE, rank ? in : MPI_IN_PLACE,
              rank ? 5 : -1, rank ? MPI_DOUBLE : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  MPI_Scatterv(out, counts, places, MPI_DOUBLE, in, counts[rank], MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Alltoall(out, 6, MPI_DOUBLE, in, 6, MPI_DOUBLE, MPI_COMM_WORLD);
  const int from_all[kRanks] = {counts[rank], counts[rank]}, places_of_all[kRanks] = {0, 2};
  MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, from_all, places_of_all, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void call_without_waiting(void) {
  int is_done = 0;
  MPI_Request request;
  MPI_Iallreduce(out, in, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  while (!is_done) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (chdir("/") != 0) return 1;
  MPI_Barrier(MPI_COMM_WORLD);
  exchange_messages(1 - rank);
  MPI_Bcast(out, 9, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  call_reductions();
  const pid_t child = fork();  // has nothing to write
  if (child == 0) return 0;
  waitpid(child, NULL, 0);
  call_gathers(rank);
  call_without_waiting();
  MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  PMPI_Bcast(out, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // as Open MPI's Fortran does
  MPI_Finalize();
  return 0;
}
