#include "tests/comm/nccl/fake_nccl.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/comm/nccl/fake_communicator.hpp"

namespace tenax::comm::fake_nccl {
namespace {

struct Registry {
  std::mutex mutex;
  std::atomic<int> version = NCCL_VERSION(2, 99, 1);
  std::uint64_t ids = 0;
  std::map<std::uint64_t, std::shared_ptr<Clique>> cliques;
  std::vector<std::unique_ptr<ncclComm>> communicators;
};

Registry& registry() {
  static Registry all;
  return all;
}

std::vector<ncclComm*>& in_group() {
  thread_local std::vector<ncclComm*> group;
  return group;
}

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclFloat64 ? 8 : 4;
}

ncclResult_t add(ncclComm& nccl, cudaStream_t stream, Call call) {
  EXPECT_TRUE(nccl.pending.empty() || nccl.stream == stream);
  nccl.stream = stream;
  nccl.pending.push_back(std::move(call));
  in_group().push_back(&nccl);
  return ncclSuccess;
}

ncclResult_t add_collective(ncclComm& nccl, cudaStream_t stream, const void* source, std::size_t source_bytes,
                            void* destination, std::size_t destination_bytes,
                            std::function<Bytes(const std::vector<Bytes>&)> combine) {
  return add(nccl, stream,
             {Call::Kind::collective, -1, source, source_bytes, destination, destination_bytes,
              std::move(combine), nccl.collectives++});
}

}  // namespace

void set_version(int code) { registry().version = code; }

}  // namespace tenax::comm::fake_nccl

using namespace tenax::comm::fake_nccl;

ncclResult_t ncclGetVersion(int* version) {
  *version = registry().version;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited" : "another fault";
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(registry().mutex);
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, &++registry().ids, sizeof(std::uint64_t));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* nccl, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  EXPECT_EQ(config->blocking, 0);
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  const std::lock_guard lock(registry().mutex);
  std::shared_ptr<Clique>& clique = registry().cliques[number];
  if (!clique) clique = std::make_shared<Clique>(ranks);
  if (surroundings()->network == Network::healthy) clique->come(Clique::joining);
  registry().communicators.push_back(std::make_unique<ncclComm>());
  *nccl = registry().communicators.back().get();
  (*nccl)->clique = clique;
  (*nccl)->surroundings = surroundings();
  (*nccl)->rank = rank;
  surroundings()->max_blocks = config->maxCTAs;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t nccl, ncclResult_t* state) {
  *state = state_of(*nccl);
  return nccl->surroundings->network == Network::broken ? ncclUnhandledCudaError : ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t nccl, int* ranks) {
  *ranks = nccl->clique->size();
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t nccl) {
  nccl->is_finalizing = true;
  nccl->clique->come(Clique::finalizing);
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t nccl) {
  EXPECT_TRUE(nccl->is_finalizing && state_of(*nccl) == ncclSuccess);
  nccl->is_gone = true;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t nccl) {
  EXPECT_FALSE(nccl->is_gone);
  nccl->is_gone = true;
  ++nccl->surroundings->aborts;
  *nccl->aborted = true;
  while (nccl->surroundings->holds_aborts) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  in_group().clear();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  for (ncclComm* nccl : in_group()) {
    if (!nccl->is_connecting) nccl->clique->come(Clique::connecting);
    nccl->is_connecting = true;
  }
  return in_group().empty() ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclSend(const void* source, std::size_t count, ncclDataType_t type, int peer, ncclComm_t nccl,
                      cudaStream_t stream) {
  return add(*nccl, stream,
             {Call::Kind::send, peer, source, count * bytes_of(type), nullptr, 0, {}, nccl->sends[peer]++});
}
ncclResult_t ncclRecv(void* destination, std::size_t count, ncclDataType_t type, int peer, ncclComm_t nccl,
                      cudaStream_t stream) {
  return add(*nccl, stream,
             {Call::Kind::receive, peer, nullptr, 0, destination, count * bytes_of(type),
              [](const std::vector<Bytes>& brought) { return brought.front(); }, nccl->receives[peer]++});
}
ncclResult_t ncclAllReduce(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t nccl, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  return add_collective(*nccl, stream, source, bytes, destination, bytes,
                        [=](const std::vector<Bytes>& brought) { return reduce(brought, type, op); });
}
ncclResult_t ncclReduce(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t nccl, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  const bool is_root = nccl->rank == root;
  return add_collective(
      *nccl, stream, source, bytes, destination, is_root ? bytes : 0,
      [=](const std::vector<Bytes>& brought) { return is_root ? reduce(brought, type, op) : Bytes{}; });
}
ncclResult_t ncclBroadcast(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t nccl, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  return add_collective(
      *nccl, stream, source, bytes, destination, bytes,
      [=](const std::vector<Bytes>& brought) { return brought[static_cast<std::size_t>(root)]; });
}
ncclResult_t ncclReduceScatter(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t nccl, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  const auto begin = static_cast<std::ptrdiff_t>(bytes) * nccl->rank;
  return add_collective(*nccl, stream, source, bytes * static_cast<std::size_t>(nccl->clique->size()),
                        destination, bytes, [=](const std::vector<Bytes>& brought) {
                          const Bytes all = reduce(brought, type, op);
                          return Bytes(all.begin() + begin,
                                       all.begin() + begin + static_cast<std::ptrdiff_t>(bytes));
                        });
}
ncclResult_t ncclAllGather(const void* source, void* destination, std::size_t count, ncclDataType_t type,
                           ncclComm_t nccl, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  return add_collective(*nccl, stream, source, bytes, destination,
                        bytes * static_cast<std::size_t>(nccl->clique->size()),
                        [](const std::vector<Bytes>& brought) {
                          Bytes all;
                          for (const Bytes& one : brought) all.insert(all.end(), one.begin(), one.end());
                          return all;
                        });
}
