// Pipelines whose ranks are threads of this process and talk over delegated links.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/transport/transports.hpp"
#include "parallel/execution/row_traffic.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/parallel/execution/arithmetic_stage.hpp"

namespace tenax::parallel {

using MakeDevice = std::function<std::unique_ptr<kernels::Device>(int rank)>;

struct PipelineRank {
  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<comm::Transport> transport;
  std::unique_ptr<ArithmeticStage> stage;
  std::unique_ptr<comm::DelegatedLink> upstream, downstream;

  PipelineNeighbours neighbours() const { return {upstream.get(), downstream.get()}; }
};

inline std::vector<PipelineRank> make_pipeline(int stages, int microbatches, double deadline_s,
                                               const MakeDevice& make_device,
                                               const std::function<int(int stage)>& slots_of) {
  std::vector<PipelineRank> ranks(static_cast<std::size_t>(stages));
  std::vector<comm::Peer> peers;
  for (int r = 0; r < stages; ++r) {
    PipelineRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.device = make_device(r);
    rank.transport = comm::create_transport(
        {.kind = comm::TransportKind::shared_memory, .interfaces = {}, .secret = comm::one_job()});
    rank.stage = std::make_unique<ArithmeticStage>(*rank.device, r, stages, slots_of(r), microbatches);
    peers.push_back({r, "rank " + std::to_string(r) + " (here)", rank.transport->addresses()});
  }
  const auto link = [&](int from, int to) {
    PipelineRank& rank = ranks[static_cast<std::size_t>(from)];
    return comm::create_delegated_link("p" + std::to_string(std::min(from, to)),
                                       peers[static_cast<std::size_t>(from)],
                                       peers[static_cast<std::size_t>(to)], *rank.transport, *rank.device,
                                       {.delegates = 2, .deadline_s = deadline_s});
  };
  for (int r = 0; r + 1 < stages; ++r) {
    ranks[static_cast<std::size_t>(r)].downstream = link(r, r + 1);
    ranks[static_cast<std::size_t>(r + 1)].upstream = link(r + 1, r);
  }
  return ranks;
}

}  // namespace tenax::parallel
