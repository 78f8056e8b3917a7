// The calls after which a process may be gone without an exit of its own.
#include "comm/monitor/mpi_size.hpp"

extern "C" int MPI_Finalize() {
  static constinit tenax::comm::monitor::NextFunction<decltype(MPI_Finalize)> next("PMPI_Finalize");
  tenax::comm::monitor::call_recorder().flush();
  return next.get()();
}
extern "C" int PMPI_Finalize() __attribute__((alias("MPI_Finalize")));

extern "C" int MPI_Abort(MPI_Comm comm, int status) {
  static constinit tenax::comm::monitor::NextFunction<decltype(MPI_Abort)> next("PMPI_Abort");
  tenax::comm::monitor::call_recorder().flush();
  return next.get()(comm, status);
}
extern "C" int PMPI_Abort(MPI_Comm comm, int status) __attribute__((alias("MPI_Abort")));
