// NCCL's calls. Its header is not needed, and not there on many machines that build this library: communicators and
// streams are pointers, enumerations are integers of 32 bits, in every release of NCCL 2.
#include <cstddef>
#include <cstdint>

#include "comm/monitor/monitored_call.hpp"

namespace tenax::comm::monitor {
namespace {

using Communicator = void*;
using Stream = void*;

/// ncclDataType_t, in its order: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, and two
/// of 8 bits.
std::int64_t bytes_of(std::size_t count, int type) {
  constexpr std::int64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const bool is_known = type >= 0 && type < static_cast<int>(sizeof(kBytes) / sizeof(*kBytes));
  return is_known ? static_cast<std::int64_t>(count) * kBytes[type] : 0;
}

std::int64_t ranks_of(Communicator communicator) {
  static constinit NextFunction<int(Communicator, int*)> count("ncclCommCount");
  int ranks = 0;
  if (auto* const function = count.find()) function(communicator, &ranks);
  return ranks;
}

}  // namespace
}  // namespace tenax::comm::monitor

#define LIST(...) __VA_ARGS__

#define TENAX_MONITOR_NCCL(name, parameters, arguments)                                                   \
  extern "C" [[gnu::visibility("default")]] int nccl##name(parameters) {                                  \
    using namespace tenax::comm::monitor;                                                                 \
    static constinit NextFunction<int(parameters)> next("nccl" #name);                                    \
    const MonitoredCall call(                                                                             \
        "nccl" #name, [&] { return CallSize{.bytes = bytes_of(count, type), .ranks = ranks_of(comm)}; }); \
    return next.get()(arguments);                                                                         \
  }

TENAX_MONITOR_NCCL(AllReduce,
                   LIST(const void* send, void* receive, std::size_t count, int type, int op,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(send, receive, count, type, op, comm, stream))
TENAX_MONITOR_NCCL(ReduceScatter,
                   LIST(const void* send, void* receive, std::size_t count, int type, int op,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(send, receive, count, type, op, comm, stream))
TENAX_MONITOR_NCCL(AllGather,
                   LIST(const void* send, void* receive, std::size_t count, int type,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(send, receive, count, type, comm, stream))
TENAX_MONITOR_NCCL(Broadcast,
                   LIST(const void* send, void* receive, std::size_t count, int type, int root,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(send, receive, count, type, root, comm, stream))
TENAX_MONITOR_NCCL(Reduce,
                   LIST(const void* send, void* receive, std::size_t count, int type, int op, int root,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(send, receive, count, type, op, root, comm, stream))
TENAX_MONITOR_NCCL(Send,
                   LIST(const void* buffer, std::size_t count, int type, int peer,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(buffer, count, type, peer, comm, stream))
TENAX_MONITOR_NCCL(Recv,
                   LIST(void* buffer, std::size_t count, int type, int peer,
                        tenax::comm::monitor::Communicator comm, tenax::comm::monitor::Stream stream),
                   LIST(buffer, count, type, peer, comm, stream))
