// RecordedWorld: the same ranks, of whose groups and links the recorder hears.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// What the inner world makes is wrapped, and so is what its ranks make beside it (World::watch). Endpoints are handed
/// out as they are: whoever uses their links for messages of training has these watched.
class RecordedWorld final : public comm::ForwardingWorld {
 public:
  /// `world` and `recorder` must outlive it. `options`: those of `world`.
  RecordedWorld(comm::World& world, Recorder& recorder, comm::CommOptions options)
      : ForwardingWorld(world, options), recorder_(recorder) {}

  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override;
  std::unique_ptr<comm::Endpoint> split_direct_endpoint(int color, int key,
                                                        const std::vector<int>& neighbours,
                                                        kernels::Device& device,
                                                        comm::LinkDeadlines deadlines) override {
    return inner_.split_direct_endpoint(color, key, neighbours, device, deadlines);
  }
  std::unique_ptr<comm::ControlGroup> control_group() override;
  std::unique_ptr<comm::Communicator> watch(std::unique_ptr<comm::Communicator> group,
                                            const std::string& name) override;
  std::unique_ptr<comm::Link> watch(comm::Link& link, const std::string& name, int here, int there) override;

 private:
  Recorder& recorder_;
  int groups_ = 0;  // made so far, by all ranks alike: they have names of their own
};

}  // namespace tenax::resilience
