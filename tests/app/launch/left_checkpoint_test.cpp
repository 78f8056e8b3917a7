// Checkpoints that wait for their place when nobody is left to give it to them.
#include "app/launch/left_checkpoint.hpp"

#include <string>

#include "io/checkpoint/checkpoint_seal.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/replicas/ledger_store.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

using resilience::Record;

/// Replicas 0 and 1 of their first start are in the ledger's epoch, and have done two steps that it has.
class LeftCheckpoint : public ::testing::Test {
 protected:
  LeftCheckpoint() {
    deck_.run.output_dir = deck_.checkpoint.dir = folder_.path().string();
    record(resilience::EpochRecord{.epoch = 1, .members = {{{0, 1}, "a"}, {{1, 1}, "b"}}});
    for (std::int64_t step = 0; step < 2; ++step)
      record(resilience::CommitRecord{
          .step = step, .epoch = 1, .first_sample = 2 * step, .parts = {{0, 2 * step, 2}}});
  }
  void record(const Record& record) { resilience::LedgerStore(folder_.path()).append({record}); }
  void write(const std::string& name, std::int64_t bytes = io::kSealBytes) {
    folder_.write(name, io::render({.file_bytes = bytes, .checksum = 0}));
  }
  /// The steps of the checkpoint that now has its place; -1: none.
  std::int64_t place() {
    const auto placed = place_left_checkpoint(deck_);
    if (!placed) return -1;
    EXPECT_EQ(resilience::list_checkpoints(folder_.path()).back().path, *placed);
    return resilience::list_checkpoints(folder_.path()).back().step;
  }

  io::test::TemporaryFolder folder_;
  io::Deck deck_;
};

TEST_F(LeftCheckpoint, gets_its_place_where_it_is_complete_and_the_newest) {
  write("step-000002.h5");
  write("step-000006.h5.replica-1.1");
  write("step-000008.h5.replica-0.1");
  write("step-000009.h5.replica-0.1", io::kSealBytes + 1);
  EXPECT_EQ(place(), 8) << "the ninth step's is cut off";
  EXPECT_EQ(resilience::list_checkpoints(folder_.path()).size(), 2U) << "none has gone";
  EXPECT_EQ(place(), -1) << "a newer one has its place";
}

// Else the next step of the start removes it.
TEST_F(LeftCheckpoint, that_cannot_be_read_is_not_taken_for_a_broken_one) {
  const std::string name = "step-000008.h5.replica-0.1";
  std::filesystem::create_symlink(name, folder_.path() / name);
  EXPECT_THROW(place_left_checkpoint(deck_), kernels::Error);
}

TEST_F(LeftCheckpoint, does_not_count_where_its_writer_was_lost) {
  write("step-000002.h5.replica-0.2");
  write("step-000002.h5.replica-2.1");
  EXPECT_EQ(place(), -1);
}

TEST_F(LeftCheckpoint, does_not_count_where_its_steps_are_void) {
  record(resilience::VoidRecord{.void_from = 1, .epoch = 1});
  write("step-000002.h5.replica-0.1");
  EXPECT_EQ(place(), -1);
  write("step-000001.h5.replica-0.1");
  EXPECT_EQ(place(), 1);
}

TEST_F(LeftCheckpoint, of_a_lost_writer_gets_its_place_where_the_ledger_has_its_steps) {
  write("step-000001.h5.replica-0.1");
  write("step-000002.h5.replica-1.1");
  write("step-000003.h5.replica-0.1");
  EXPECT_EQ(place_recorded_checkpoint(deck_, "replica-0.2"), std::nullopt);
  EXPECT_EQ(place_recorded_checkpoint(deck_, "replica-0.1"), folder_.path() / "step-000001.h5")
      << "the third step is not recorded, and the other writer's is another's";
  EXPECT_EQ(place_recorded_checkpoint(deck_), folder_.path() / "step-000002.h5");
  EXPECT_EQ(place_recorded_checkpoint(deck_), std::nullopt);
}

TEST_F(LeftCheckpoint, is_none_of_a_lost_writer_where_a_later_epoch_has_begun_without_it) {
  record(resilience::EpochRecord{.epoch = 2, .from_step = 2, .members = {{{1, 1}, "b"}}});
  write("step-000002.h5.replica-0.1");
  EXPECT_EQ(place_recorded_checkpoint(deck_, "replica-0.1"), std::nullopt);
}

}  // namespace
}  // namespace tenax::app
