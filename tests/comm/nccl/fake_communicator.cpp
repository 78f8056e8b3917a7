#include "tests/comm/nccl/fake_communicator.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/comm/contributions.hpp"
#include "tests/kernels/async/stand_in_stream.hpp"

namespace tenax::comm::fake_nccl {
namespace {

/// A call's memory on its way, and what is needed to bring it.
struct Flight {
  Call call;
  std::shared_ptr<Clique> clique;
  int rank = 0;
  std::shared_ptr<std::atomic<bool>> aborted;
  PinnedPool::Memory in, out;

  std::atomic<bool>& given_up() const { return *aborted; }
  void put() const {
    const auto* const first = static_cast<const std::byte*>(in->data());
    if (call.kind != Call::Kind::receive && !given_up())
      clique->put({rank, call.peer, call.number, 0}, Bytes(first, first + call.source_bytes));
  }
  void get() const {
    if (call.kind == Call::Kind::send) return;
    std::vector<Bytes> brought;
    for (int from = 0; from < clique->size(); ++from) {
      const bool is_message = call.kind == Call::Kind::receive;
      if (is_message && from != call.peer) continue;
      const auto bytes = clique->get({from, is_message ? rank : -1, call.number, 0}, given_up());
      if (!bytes) return;
      brought.push_back(*bytes);
    }
    const Bytes result = call.combine(brought);
    EXPECT_EQ(result.size(), call.destination_bytes) << "both ends name the same count";
    std::memcpy(out->data(), result.data(), std::min(result.size(), call.destination_bytes));
    if (call.kind == Call::Kind::receive) clique->put({call.peer, rank, call.number, 1}, {});
  }
  void end() const {
    if (call.kind == Call::Kind::send) clique->get({rank, call.peer, call.number, 1}, given_up());
  }
};

void copy(kernels::Device& device, kernels::Stream& stream, const void* from, void* to, std::size_t bytes) {
  EXPECT_EQ(bytes % 2, 0U) << "the fake copies bf16";
  const kernels::Shape shape{static_cast<std::int64_t>(bytes / 2)};
  if (bytes > 0)
    device.kernels().copy(stream, {const_cast<void*>(from), kernels::DType::bf16, shape},
                          {to, kernels::DType::bf16, shape});
}

/// Puts a group onto its stream: sources to host memory, the exchange, results to where they belong.
void launch(ncclComm& nccl) {
  auto& stream =
      dynamic_cast<kernels::test::StandInStream&>(*reinterpret_cast<kernels::Stream*>(nccl.stream));
  const std::shared_ptr<Surroundings> around = nccl.surroundings;
  kernels::Device& device = *around->device;
  const auto flights = std::make_shared<std::vector<Flight>>();
  for (const Call& call : nccl.pending) {
    flights->push_back({call, nccl.clique, nccl.rank, nccl.aborted,
                        around->pinned.take(device, call.source_bytes + 1),
                        around->pinned.take(device, call.destination_bytes + 1)});
    copy(device, stream, call.source, flights->back().in->data(), call.source_bytes);
  }
  const bool hangs = nccl.surroundings->network != Network::healthy;
  stream.enqueue([flights, hangs](kernels::Stream&) {
    if (hangs) flights->front().clique->get({-1, -1, -1, -1}, flights->front().given_up());
    for (const Flight& flight : *flights) flight.put();
    for (const Flight& flight : *flights) flight.get();
    for (const Flight& flight : *flights) flight.end();
  });
  for (const Flight& flight : *flights)
    copy(device, stream, flight.out->data(), flight.call.destination, flight.call.destination_bytes);
  stream.enqueue([flights, around](kernels::Stream&) {
    for (Flight& flight : *flights)
      for (PinnedPool::Memory* memory : {&flight.in, &flight.out})
        around->pinned.give_back(std::move(*memory));
  });
  nccl.pending.clear();
}

/// Rank after rank, rounded at every hop.
template <class T>
Bytes reduce_as(const std::vector<Bytes>& brought, ncclRedOp_t op) {
  Bytes result = brought.front();
  const auto at = [](const Bytes& bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return Element<T>::load(value);
  };
  for (std::size_t source = 1; source < brought.size(); ++source)
    for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) {
      const auto a = at(result, i), b = at(brought[source], i);
      const T value = Element<T>::store(op == ncclSum ? a + b : b > a ? b : a);
      std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
    }
  return result;
}

}  // namespace

std::shared_ptr<Surroundings>& surroundings() {
  thread_local auto mine = std::make_shared<Surroundings>();
  return mine;
}

OnDevice::OnDevice(kernels::Device& device) {
  surroundings() = std::make_shared<Surroundings>();
  surroundings()->device = &device;
}

OnDevice::~OnDevice() { surroundings()->pinned.clear(); }

void set_network(Network network) { surroundings()->network = network; }

int max_blocks() { return surroundings()->max_blocks; }

HeldAborts::HeldAborts() { surroundings()->holds_aborts = true; }
HeldAborts::~HeldAborts() { surroundings()->holds_aborts = false; }
bool HeldAborts::any() { return surroundings()->aborts > 0; }

ncclResult_t state_of(ncclComm& nccl) {
  constexpr int kPatience = 3;
  if (nccl.is_gone) ADD_FAILURE() << "a communicator that is gone was used";
  if (nccl.surroundings->network == Network::faulty) return ncclRemoteError;
  if (!nccl.clique->all_here(Clique::joining)) return ncclInProgress;
  if (nccl.is_finalizing) return nccl.clique->all_here(Clique::finalizing) ? ncclSuccess : ncclInProgress;
  if (nccl.pending.empty()) return ncclSuccess;
  if (!nccl.clique->all_here(Clique::connecting) || ++nccl.asked % kPatience != 0) return ncclInProgress;
  launch(nccl);
  return ncclSuccess;
}

Bytes reduce(const std::vector<Bytes>& brought, ncclDataType_t type, ncclRedOp_t op) {
  if (type == ncclFloat64) return reduce_as<double>(brought, op);
  return type == ncclFloat32 ? reduce_as<float>(brought, op) : reduce_as<kernels::bf16_t>(brought, op);
}

}  // namespace tenax::comm::fake_nccl
