// Messages between two ranks.
#include "comm/monitor/mpi_size.hpp"

#define TENAX_MONITOR_SEND(name, iname)                                                                     \
  TENAX_MONITOR_BOTH(                                                                                       \
      name, iname,                                                                                          \
      TENAX_MONITOR_LIST(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm), \
      TENAX_MONITOR_LIST(buffer, count, type, to, tag, comm), bytes_of(count, type))

TENAX_MONITOR_SEND(Send, Isend)
TENAX_MONITOR_SEND(Bsend, Ibsend)
TENAX_MONITOR_SEND(Ssend, Issend)
TENAX_MONITOR_SEND(Rsend, Irsend)

TENAX_MONITOR_MPI(Recv,
                  TENAX_MONITOR_LIST(void* buffer, int count, MPI_Datatype type, int from, int tag,
                                     MPI_Comm comm, MPI_Status* status),
                  TENAX_MONITOR_LIST(buffer, count, type, from, tag, comm, status), bytes_of(count, type))
TENAX_MONITOR_MPI(Irecv,
                  TENAX_MONITOR_LIST(void* buffer, int count, MPI_Datatype type, int from, int tag,
                                     MPI_Comm comm, MPI_Request* request),
                  TENAX_MONITOR_LIST(buffer, count, type, from, tag, comm, request), bytes_of(count, type))

TENAX_MONITOR_MPI(Sendrecv,
                  TENAX_MONITOR_LIST(const void* send, int count, MPI_Datatype type, int to, int tag,
                                     void* receive, int receive_count, MPI_Datatype receive_type, int from,
                                     int receive_tag, MPI_Comm comm, MPI_Status* status),
                  TENAX_MONITOR_LIST(send, count, type, to, tag, receive, receive_count, receive_type, from,
                                     receive_tag, comm, status),
                  bytes_of(count, type))
TENAX_MONITOR_MPI(Sendrecv_replace,
                  TENAX_MONITOR_LIST(void* buffer, int count, MPI_Datatype type, int to, int tag, int from,
                                     int receive_tag, MPI_Comm comm, MPI_Status* status),
                  TENAX_MONITOR_LIST(buffer, count, type, to, tag, from, receive_tag, comm, status),
                  bytes_of(count, type))
