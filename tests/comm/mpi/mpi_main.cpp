// GoogleTest under mpirun: every rank runs every test; one MPI for all of them (a process can start it once).
#include "tests/comm/mpi/mpi_main.hpp"

#include <iostream>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

/// What ranks other than 0 print: failures only.
class FailurePrinter final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << test_world().rank() << ": " << result.file_name() << ":" << result.line_number()
              << ": " << result.summary() << "\n";
  }
};

std::unique_ptr<World>& world_slot() {
  static std::unique_ptr<World> world;
  return world;
}

}  // namespace

World& test_world() { return *world_slot(); }

}  // namespace tenax::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& world = tenax::comm::world_slot();
  world = tenax::comm::start_mpi_world({.deadline_s = 60});
  if (world->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new tenax::comm::FailurePrinter);
  }
  const int mine = RUN_ALL_TESTS();
  std::vector<double> status = {static_cast<double>(mine)};
  world->control_group()->all_reduce_max(status);
  world.reset();
  return static_cast<int>(status[0]);
}
