// ModelRank: one rank of a course, which trains as TrainingLoop does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "app/training/grid_swap.hpp"
#include "io/deck/deck.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/swappable_replica.hpp"
#include "tests/app/training/swap_course.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::app {

class ModelRank {
 public:
  /// Collective, as all calls but leave(). All arguments outlive it.
  ModelRank(comm::World& world, comm::LocalNetwork& network, const Course& course);

  void train(int steps);
  GridSwap::Outcome change(const Permutation& permutation);
  /// Adds what this rank has to `result`, which `mutex` guards.
  void leave(CourseResult& result, std::mutex& mutex);

 private:
  std::unique_ptr<parallel::Replica> build(const parallel::ProcessGrid& grid,
                                           const parallel::Replica* before);
  std::uint64_t move(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control);
  parallel::GptReplica& model();
  StateAddresses addresses();
  std::vector<std::byte> bytes_of(const kernels::Tensor& tensor);
  void step();
  std::vector<std::int32_t> windows_of(int step) const;

  comm::World& world_;
  comm::LocalNetwork& network_;
  const Course& course_;
  const io::Deck deck_;
  const std::unique_ptr<kernels::Device> device_;
  const parallel::Layout layout_;
  const parallel::PipelineContext context_;
  parallel::SwappableReplica replica_;
  GridSwap swap_;
  std::vector<double> losses_, norms_;
};

}  // namespace tenax::app
