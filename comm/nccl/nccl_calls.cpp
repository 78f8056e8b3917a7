// The calls of NCCL that this folder makes, under the library's own names, which load the library when one of them is first
// made.
#include <nccl.h>

#include <string>

#include "kernels/shared_library.hpp"

namespace {

const tenax::kernels::SharedLibrary kNccl("NCCL", "libnccl.so." + std::to_string(NCCL_MAJOR),
                                          TENAX_NCCL_LIBRARY);

}  // namespace

ncclResult_t ncclGetVersion(int* version) { TENAX_CALL_IN(kNccl, ncclGetVersion, version); }

const char* ncclGetErrorString(ncclResult_t result) { TENAX_CALL_IN(kNccl, ncclGetErrorString, result); }

const char* ncclGetLastError(ncclComm_t comm) { TENAX_CALL_IN(kNccl, ncclGetLastError, comm); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { TENAX_CALL_IN(kNccl, ncclGetUniqueId, id); }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  TENAX_CALL_IN(kNccl, ncclCommInitRankConfig, comm, ranks, id, rank, config);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { TENAX_CALL_IN(kNccl, ncclCommFinalize, comm); }

ncclResult_t ncclCommDestroy(ncclComm_t comm) { TENAX_CALL_IN(kNccl, ncclCommDestroy, comm); }

ncclResult_t ncclCommAbort(ncclComm_t comm) { TENAX_CALL_IN(kNccl, ncclCommAbort, comm); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  TENAX_CALL_IN(kNccl, ncclCommGetAsyncError, comm, error);
}

ncclResult_t ncclGroupStart() { TENAX_CALL_IN(kNccl, ncclGroupStart); }

ncclResult_t ncclGroupEnd() { TENAX_CALL_IN(kNccl, ncclGroupEnd); }

ncclResult_t ncclAllReduce(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclAllReduce, source, destination, count, type, op, comm, stream);
}

ncclResult_t ncclReduce(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclReduce, source, destination, count, type, op, root, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclReduceScatter, source, destination, count, type, op, comm, stream);
}

ncclResult_t ncclAllGather(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclAllGather, source, destination, count, type, comm, stream);
}

ncclResult_t ncclBroadcast(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclBroadcast, source, destination, count, type, root, comm, stream);
}

ncclResult_t ncclSend(const void* source, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclSend, source, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* destination, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  TENAX_CALL_IN(kNccl, ncclRecv, destination, count, type, peer, comm, stream);
}
