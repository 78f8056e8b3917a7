// What a call to MPI takes that does next to nothing: with libtenax_monitor.so before it, and without.
//   monitor_bench; LD_PRELOAD=build/libtenax_monitor.so TENAX_MONITOR_DIR=/tmp/monitor monitor_bench
#include <mpi.h>
#include <stdio.h>

enum { kRounds = 9, kCalls = 1000000 };

static double nanoseconds_a_call(void) {
  double value = 0;
  const double begin = MPI_Wtime();
  for (int call = 0; call < kCalls; ++call) MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF);
  return (MPI_Wtime() - begin) * 1e9 / kCalls;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int round = 0; round < kRounds; ++round) printf("%.1f ns a call\n", nanoseconds_a_call());
  MPI_Finalize();
  return 0;
}
