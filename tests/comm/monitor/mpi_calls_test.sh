# libtenax_monitor.so in front of MPI: every call of two ranks once, in its order, and nothing without TENAX_MONITOR_DIR.
#   mpi_calls_test.sh MPIRUN PROGRAM LIBRARY
set -euo pipefail
mpirun=$1 program=$2 library=$3

expected() {
  local rank=$1
  echo MPI_Barrier,0,2 MPI_Irecv,8,2 MPI_Isend,2,2 MPI_Sendrecv,12,2
  [ "$rank" = 0 ] && echo MPI_Send,40,2 || echo MPI_Recv,48,2
  echo MPI_Bcast,72,2 MPI_Reduce,8,2 MPI_Allreduce,8,2 MPI_Reduce_scatter,24,2 MPI_Reduce_scatter_block,32,2 MPI_Scan,40,2
  echo MPI_Allgather,8,2 MPI_Allgatherv,$((8 + 8 * rank)),2 MPI_Gather,24,2 MPI_Gatherv,$((8 + 8 * rank)),2
  echo MPI_Scatter,40,2 MPI_Scatterv,$((8 + 8 * rank)),2 MPI_Alltoall,48,2 MPI_Alltoallv,24,2
  echo MPI_Iallreduce,56,2 MPI_Ibarrier,0,2 MPI_Allreduce,8,1 MPI_Bcast,64,2
}

LD_PRELOAD=$library "$mpirun" -n 2 "$program"
[ -z "$(ls)" ] || { echo "wrote $(ls) though TENAX_MONITOR_DIR is not set"; exit 1; }

LD_PRELOAD=$library TENAX_MONITOR_DIR=logs "$mpirun" -n 2 "$program"
[ "$(ls logs | tr '\n' ' ')" = "rank-0.csv rank-1.csv " ] || { ls logs; exit 1; }
for rank in 0 1; do
  log=logs/rank-$rank.csv
  [ "$(head -n 1 $log)" = seconds,call,bytes,ranks ]
  diff <(expected $rank | tr ' ' '\n') <(tail -n +2 $log | cut -d, -f2-) || { echo "rank $rank: see above"; exit 1; }
  tail -n +2 $log | cut -d, -f1 | sort -n -c
  tail -n +2 $log | grep -qvE '^[0-9]+\.[0-9]{9},' && { echo "a time without nine digits"; exit 1; }
done

# A place that cannot be written is said, and the program runs on.
LD_PRELOAD=$library TENAX_MONITOR_DIR=/proc/none "$mpirun" -n 2 "$program" 2>errors
grep -q "cannot log this process's calls to /proc/none/rank-0.csv" errors
