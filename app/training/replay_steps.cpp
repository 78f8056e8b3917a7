#include "app/training/replay_steps.hpp"

namespace tenax::app {

ReplaySteps::ReplaySteps(const RunRank& rank, parallel::GptReplica& replica, kernels::Device& device,
                         const std::filesystem::path& folder)
    : sums_(replica.state(), device, replica.stream()),
      recorder_(folder,
                {.rank = rank.world().rank(),
                 .host = rank.world().host(),
                 .stage = replica.coordinates().pipeline,
                 .tensors = {},
                 .parts = {}},
                sums_, rank.deck().comm.deadline_s) {}

}  // namespace tenax::app
