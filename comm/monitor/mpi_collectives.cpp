// Collectives. What is not significant on a rank is not looked at: with MPI_IN_PLACE the other buffer's count and type
// hold; where two groups are joined, a root below 0 means that this rank's own are not.
#include "comm/monitor/mpi_size.hpp"

#define LIST TENAX_MONITOR_LIST

TENAX_MONITOR_BOTH(Barrier, Ibarrier, LIST(MPI_Comm comm), LIST(comm), 0)

TENAX_MONITOR_BOTH(Bcast, Ibcast, LIST(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
                   LIST(buffer, count, type, root, comm), root < 0 ? 0 : bytes_of(count, type))

TENAX_MONITOR_BOTH(Reduce, Ireduce,
                   LIST(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                        MPI_Comm comm),
                   LIST(send, receive, count, type, op, root, comm), root < 0 ? 0 : bytes_of(count, type))

#define TENAX_MONITOR_REDUCTION(name, iname)                                                         \
  TENAX_MONITOR_BOTH(                                                                                \
      name, iname,                                                                                   \
      LIST(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
      LIST(send, receive, count, type, op, comm), bytes_of(count, type))
TENAX_MONITOR_REDUCTION(Allreduce, Iallreduce)
TENAX_MONITOR_REDUCTION(Reduce_scatter_block, Ireduce_scatter_block)
TENAX_MONITOR_REDUCTION(Scan, Iscan)
TENAX_MONITOR_REDUCTION(Exscan, Iexscan)

TENAX_MONITOR_BOTH(Reduce_scatter, Ireduce_scatter,
                   LIST(const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm),
                   LIST(send, receive, counts, type, op, comm), bytes_of(sum_of(counts, comm), type))

#define TENAX_MONITOR_EXCHANGE(name, iname)                                                                 \
  TENAX_MONITOR_BOTH(name, iname,                                                                           \
                     LIST(const void* send, int count, MPI_Datatype type, void* receive, int receive_count, \
                          MPI_Datatype receive_type, MPI_Comm comm),                                        \
                     LIST(send, count, type, receive, receive_count, receive_type, comm),                   \
                     send == MPI_IN_PLACE ? bytes_of(receive_count, receive_type) : bytes_of(count, type))
TENAX_MONITOR_EXCHANGE(Allgather, Iallgather)
TENAX_MONITOR_EXCHANGE(Alltoall, Ialltoall)

TENAX_MONITOR_BOTH(Allgatherv, Iallgatherv,
                   LIST(const void* send, int count, MPI_Datatype type, void* receive, const int* counts,
                        const int* places, MPI_Datatype receive_type, MPI_Comm comm),
                   LIST(send, count, type, receive, counts, places, receive_type, comm),
                   send == MPI_IN_PLACE ? bytes_of(own_of(counts, comm), receive_type)
                                        : bytes_of(count, type))

TENAX_MONITOR_BOTH(Alltoallv, Ialltoallv,
                   LIST(const void* send, const int* counts, const int* places, MPI_Datatype type,
                        void* receive, const int* receive_counts, const int* receive_places,
                        MPI_Datatype receive_type, MPI_Comm comm),
                   LIST(send, counts, places, type, receive, receive_counts, receive_places, receive_type,
                        comm),
                   send == MPI_IN_PLACE ? bytes_of(sum_of(receive_counts, comm), receive_type)
                                        : bytes_of(sum_of(counts, comm), type))

TENAX_MONITOR_BOTH(Gather, Igather,
                   LIST(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                        MPI_Datatype receive_type, int root, MPI_Comm comm),
                   LIST(send, count, type, receive, receive_count, receive_type, root, comm),
                   root < 0               ? 0
                   : send == MPI_IN_PLACE ? bytes_of(receive_count, receive_type)
                                          : bytes_of(count, type))

TENAX_MONITOR_BOTH(Gatherv, Igatherv,
                   LIST(const void* send, int count, MPI_Datatype type, void* receive, const int* counts,
                        const int* places, MPI_Datatype receive_type, int root, MPI_Comm comm),
                   LIST(send, count, type, receive, counts, places, receive_type, root, comm),
                   root < 0               ? 0
                   : send == MPI_IN_PLACE ? bytes_of(own_of(counts, comm), receive_type)
                                          : bytes_of(count, type))

TENAX_MONITOR_BOTH(Scatter, Iscatter,
                   LIST(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                        MPI_Datatype receive_type, int root, MPI_Comm comm),
                   LIST(send, count, type, receive, receive_count, receive_type, root, comm),
                   root < 0                  ? 0
                   : receive == MPI_IN_PLACE ? bytes_of(count, type)
                                             : bytes_of(receive_count, receive_type))

TENAX_MONITOR_BOTH(Scatterv, Iscatterv,
                   LIST(const void* send, const int* counts, const int* places, MPI_Datatype type,
                        void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),
                   LIST(send, counts, places, type, receive, receive_count, receive_type, root, comm),
                   root < 0                  ? 0
                   : receive == MPI_IN_PLACE ? bytes_of(own_of(counts, comm), type)
                                             : bytes_of(receive_count, receive_type))
