#include "resilience/swap/emulated_move.hpp"

#include <algorithm>
#include <string>
#include <thread>

namespace tenax::resilience {

namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{8} << 20;

kernels::Tensor without_data(std::uint64_t bytes) {
  return {nullptr, kernels::DType::i32, {static_cast<std::int64_t>(bytes / sizeof(std::int32_t))}};
}

}  // namespace

EmulatedMove::EmulatedMove(const PlaceChange& change, std::uint64_t bytes, const comm::DirectOptions& links,
                           kernels::Device& device, const MoveRoads& roads)
    : bytes_(change.moves() ? bytes : 0) {
  if (!change.moves()) return;
  comm::DirectOptions options = links;
  options.depth = static_cast<int>(bytes / kChunkBytes) + 1;  // no send holds up the next
  options.deadline_s = roads.deadline_s;
  std::vector<int> neighbours{change.source};
  if (change.destination != change.source) neighbours.push_back(change.destination);
  stream_ = device.create_stream();
  endpoint_ =
      comm::create_emulated_direct_endpoint("swap." + std::to_string(change.generation), roads.peers,
                                            change.rank, neighbours, roads.transport, device, options);
  start(endpoint_->link(change.source), endpoint_->link(change.destination));
}

void EmulatedMove::start(comm::Link& source, comm::Link& destination) {
  std::vector<kernels::Tensor> chunks;
  for (std::uint64_t begin = 0; begin < bytes_; begin += kChunkBytes)
    chunks.push_back(without_data(std::min(kChunkBytes, bytes_ - begin)));
  for (const kernels::Tensor& chunk : chunks) transfers_.push_back(source.receive(*stream_, chunk, 0));
  for (const kernels::Tensor& chunk : chunks) transfers_.push_back(destination.send(*stream_, chunk, 0));
}

bool EmulatedMove::goes_on(double seconds) {
  const auto until = kernels::Deadline::after_s(seconds);
  for (;;) {
    std::erase_if(transfers_, [](const comm::TransferPtr& transfer) { return transfer->done(); });
    if (transfers_.empty()) return false;
    if (until.expired()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tenax::resilience
