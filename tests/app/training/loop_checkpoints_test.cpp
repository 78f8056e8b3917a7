#include "app/training/loop_checkpoints.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include "tests/comm/thread_ranks.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

class LoopCheckpointsOfTwo : public io::DirectoryTest {
 protected:
  /// `body(checkpoints, control)` on two ranks with a comm.deadline_s of 0.05, of which one has its state for a save only after
  /// one and a half seconds.
  template <class Body>
  void run(const Body& body) {
    comm::run_ranks(2, 20, [&](comm::World& world) {
      io::Deck deck;
      deck.comm.deadline_s = 0.05;
      deck.checkpoint.interval = 1;
      const io::WholeState state(io::kTinyModel);
      const auto control = world.control_group();
      resilience::CheckpointOptions options{.directory = directory_, .model = io::kTinyModel};
      options.fetch = [&world] {
        if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      };
      resilience::CheckpointManager manager(options, world.control_group(),
                                            world.rank() == 0 ? state.ranges : std::vector<io::StateRange>());
      Console console(false);
      RunRecords records(*control, deck, directory_, console);
      StepProfile profile;
      LoopCheckpoints checkpoints(deck, &manager, records, console, profile);
      body(checkpoints, *control);
    });
  }
};

// A rank waits as long for one that a slow disk holds up as that one's own save may take.
TEST_F(LoopCheckpointsOfTwo, bear_a_save_of_many_deadlines_at_the_end_of_a_run) {
  run([](LoopCheckpoints& checkpoints, comm::ControlGroup& control) {
    checkpoints.start(control, 1);
    EXPECT_TRUE(checkpoints.finish(2));
  });
}

TEST_F(LoopCheckpointsOfTwo, bear_it_before_ranks_change_places) {
  run([](LoopCheckpoints& checkpoints, comm::ControlGroup& control) {
    checkpoints.start(control, 1);
    EXPECT_NO_THROW(checkpoints.settle(control));
    checkpoints.record(true);
  });
}

}  // namespace
}  // namespace tenax::app
