// How many bytes and ranks a call to MPI has; and what its function is made of.
//
// A rank's bytes are what it brings to the call: count x size of the type. Where a call has a count
// for each rank they are added up, but a gather's and a scatter's are its own part.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "comm/monitor/monitored_call.hpp"

namespace tenax::comm::monitor {

/// 0 for MPI_COMM_NULL.
std::int64_t ranks_of(MPI_Comm comm);
/// 0 for MPI_DATATYPE_NULL.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type);
/// The sum of a count for each rank of `comm`, or of the other group where it joins two.
std::int64_t sum_of(const int* counts, MPI_Comm comm);
/// This rank's.
std::int64_t own_of(const int* counts, MPI_Comm comm);

}  // namespace tenax::comm::monitor

#define TENAX_MONITOR_LIST(...) __VA_ARGS__

/// MPI_NAME and PMPI_NAME, which Open MPI's Fortran calls. Among `parameters` is `comm`.
#define TENAX_MONITOR_MPI(name, parameters, arguments, brought)                                    \
  extern "C" int MPI_##name(parameters) {                                                          \
    using namespace tenax::comm::monitor;                                                          \
    static constinit NextFunction<decltype(MPI_##name)> next("PMPI_" #name);                       \
    const MonitoredCall call("MPI_" #name,                                                         \
                             [&] { return CallSize{.bytes = brought, .ranks = ranks_of(comm)}; }); \
    return next.get()(arguments);                                                                  \
  }                                                                                                \
  extern "C" int PMPI_##name(parameters) __attribute__((alias("MPI_" #name)));

/// The same, and the call that does not wait.
#define TENAX_MONITOR_BOTH(name, iname, parameters, arguments, brought)                           \
  TENAX_MONITOR_MPI(name, TENAX_MONITOR_LIST(parameters), TENAX_MONITOR_LIST(arguments), brought) \
  TENAX_MONITOR_MPI(iname, TENAX_MONITOR_LIST(parameters, MPI_Request* request),                  \
                    TENAX_MONITOR_LIST(arguments, request), brought)
