#include "resilience/checkpoint/checkpoint_directory.hpp"

#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/whole_file.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::resilience {
namespace {

using Names = std::vector<std::string>;

class CheckpointDirectory : public io::DirectoryTest {
 protected:
  void touch(const Names& names) {
    for (const std::string& name : names) io::write_file(directory_ / name, "");
  }
};

TEST_F(CheckpointDirectory, names_have_six_digits_or_more) {
  EXPECT_EQ(checkpoint_name("d", 20), "d/step-000020.h5");
  EXPECT_EQ(checkpoint_name("d", 12345678), "d/step-12345678.h5");
}

TEST_F(CheckpointDirectory, newest_is_the_highest_step_whatever_else_lies_there) {
  EXPECT_TRUE(list_checkpoints(directory_).empty());
  EXPECT_TRUE(list_checkpoints(directory_ / "absent").empty());
  touch({"step-000009.h5", "step-1000000.h5", "step-999999.h5", "step-99999999.h5.bak", "step-2.h5",
         "step-00000x.h5", "step--00001.h5", ".step-90000000.h5.tmp-host-1", "best.h5", "step-.h5",
         "step-99999999999999999999.h5"});
  EXPECT_EQ(list_checkpoints(directory_).back().path, directory_ / "step-1000000.h5");
  EXPECT_EQ(list_checkpoints(directory_).size(), 3U);
}

TEST_F(CheckpointDirectory, what_a_replica_has_complete_counts_only_in_its_place) {
  touch({"step-000001.h5", "step-000002.h5", "step-000003.h5.replica-1.2", "step-000003.h5.replica-1.20",
         ".step-000004.h5.replica-1.2.tmp-host-9"});
  EXPECT_EQ(list_checkpoints(directory_).back().step, 2);
  ASSERT_EQ(list_pending_checkpoints(directory_).size(), 2U);
  EXPECT_EQ(list_pending_checkpoints(directory_)[0].step, 3);
  EXPECT_TRUE(list_pending_checkpoints(directory_)[0].writer.starts_with("replica-1.2"));
  EXPECT_FALSE(place_checkpoint(directory_, 4, "replica-1.2", 2));
  EXPECT_TRUE(place_checkpoint(directory_, 3, "replica-1.2", 2));
  remove_pending_checkpoints(directory_, "replica-1.2");
  EXPECT_EQ(io::names_in(directory_),
            (Names{"step-000002.h5", "step-000003.h5", "step-000003.h5.replica-1.20"}));
  remove_pending_checkpoints(directory_);
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000002.h5", "step-000003.h5"}));
}

TEST_F(CheckpointDirectory, what_a_replica_has_complete_of_more_steps_stays) {
  touch({"step-000003.h5.replica-1.2", "step-000004.h5.replica-1.2", "step-000004.h5.replica-0.1",
         ".step-000005.h5.replica-1.2.tmp-host-9"});
  remove_pending_checkpoints(directory_, "replica-1.2", 3);
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000004.h5.replica-0.1", "step-000004.h5.replica-1.2"}));
}

TEST_F(CheckpointDirectory, what_cannot_be_looked_at_is_not_taken_for_absent) {
  std::filesystem::create_symlink("loop", directory_ / "loop");
  EXPECT_THROW(place_checkpoint(directory_ / "loop", 3, "replica-1.2", 2), kernels::Error);
}

TEST_F(CheckpointDirectory, later_checkpoints_are_set_aside_and_none_is_lost) {
  touch({"step-000001.h5", "step-000002.h5", "step-000003.h5", "step-000003.h5.1"});
  EXPECT_EQ(set_aside_checkpoints(directory_, 1).size(), 2U);
  EXPECT_EQ(io::names_in(directory_),
            (Names{"step-000001.h5", "step-000002.h5.1", "step-000003.h5.1", "step-000003.h5.2"}));
  EXPECT_TRUE(set_aside_checkpoints(directory_ / "absent", -1).empty());
}

TEST_F(CheckpointDirectory, later_ones_that_wait_for_their_place_are_set_aside_if_they_may_be_complete) {
  const io::WholeState state(io::kTinyModel);
  io::CheckpointInfo info;
  info.model = io::kTinyModel;
  for (const char* name :
       {"step-000003.h5.replica-0.1", "step-000005.h5.replica-0.1", "step-000005.h5.replica-0.2"})
    io::write_checkpoint(directory_ / name, info, state.ranges);
  touch({"step-000005.h5", "step-000005.h5.1", "step-000006.h5.replica-0.1"});
  std::filesystem::create_symlink("step-000007.h5.replica-0.1", directory_ / "step-000007.h5.replica-0.1");
  EXPECT_EQ(set_aside_pending_checkpoints(directory_, 3, std::set<std::string>{"replica-0.2", "replica-1.1"}),
            std::vector{directory_ / "step-000005.h5.2"});
  EXPECT_EQ(
      set_aside_pending_checkpoints(directory_, 3),
      (std::vector<std::filesystem::path>{directory_ / "step-000005.h5.3", directory_ / "step-000007.h5.1"}));
  prepare_checkpoint_directory(directory_);
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000005.h5", "step-000005.h5.1", "step-000005.h5.2",
                                             "step-000005.h5.3", "step-000007.h5.1"}));
}

TEST_F(CheckpointDirectory, keep_removes_the_oldest_and_nothing_else) {
  touch({"step-000001.h5", "step-000002.h5", "step-000003.h5", "step-000010.h5", "step-1.h5", "notes"});
  remove_old_checkpoints(directory_, 0, 10);
  EXPECT_EQ(list_checkpoints(directory_).size(), 4U);
  remove_old_checkpoints(directory_, 2, 10);
  EXPECT_EQ(io::names_in(directory_), (Names{"notes", "step-000003.h5", "step-000010.h5", "step-1.h5"}));
  remove_old_checkpoints(directory_, 1, 3);  // a run that went back to an earlier checkpoint
  EXPECT_EQ(io::names_in(directory_), (Names{"notes", "step-000003.h5", "step-1.h5"}));
}

TEST_F(CheckpointDirectory, the_oldest_makes_room_but_never_the_last_one) {
  touch({"step-000001.h5", "step-000002.h5"});
  EXPECT_TRUE(remove_oldest_checkpoints(directory_, 0));
  EXPECT_FALSE(remove_oldest_checkpoints(directory_, 0));
  EXPECT_EQ(io::names_in(directory_), Names{"step-000002.h5"});
}

TEST_F(CheckpointDirectory, as_many_make_room_as_are_needed_and_none_where_all_are_too_few) {
  for (const char* name : {"step-000001.h5", "step-000002.h5", "step-000003.h5", "step-000004.h5"})
    io::write_file(directory_ / name, std::string(10, 'x'));
  EXPECT_FALSE(remove_oldest_checkpoints(directory_, 31));
  EXPECT_EQ(list_checkpoints(directory_).size(), 4U);
  EXPECT_TRUE(remove_oldest_checkpoints(directory_, 11));
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000003.h5", "step-000004.h5"}));
}

TEST_F(CheckpointDirectory, room_is_what_is_free_and_what_old_checkpoints_take) {
  const SmallDisk disk(directory_, 100 << 10);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  EXPECT_EQ(check_room_for_checkpoints(directory_, {.bytes = 30 << 10, .keep = 3, .steps_done = -1}), "");
  EXPECT_NE(check_room_for_checkpoints(directory_, {.bytes = 40 << 10, .keep = 3, .steps_done = -1})
                .find("old ones will have to make room"),
            std::string::npos);
  for (const char* name : {"step-000010.h5", "step-000020.h5"})
    io::write_file(directory_ / name, std::string(40 << 10, 'x'));
  EXPECT_EQ(check_room_for_checkpoints(directory_, {.bytes = 40 << 10, .keep = 2, .steps_done = 20}), "");
  const std::string error = io::error_of(
      [&] { check_room_for_checkpoints(directory_, {.bytes = 70 << 10, .keep = 2, .steps_done = 20}); });
  EXPECT_NE(error.find("checkpoint.dir"), std::string::npos) << error;
  EXPECT_NE(io::error_of([&] {
              check_room_for_checkpoints(directory_, {.bytes = 40 << 10, .keep = 0, .steps_done = 20});
            }),
            "")
      << "none of those that are all to be kept makes room";
}

TEST_F(CheckpointDirectory, preparing_removes_what_a_killed_run_left_half_written) {
  const std::string ours = io::temporary_name("step-000007.h5").filename().string();
  touch({ours, "step-000006.h5", ".step-7.tmp-x", ".other.h5.tmp-host-1", "step-000007.h5.tmp-1"});
  prepare_checkpoint_directory(directory_);
  EXPECT_EQ(io::names_in(directory_),
            (Names{".other.h5.tmp-host-1", ".step-7.tmp-x", "step-000006.h5", "step-000007.h5.tmp-1"}));
  prepare_checkpoint_directory(directory_ / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(directory_ / "a/b"));
}

TEST_F(CheckpointDirectory, that_cannot_be_is_refused_by_name) {
  touch({"file"});
  const std::string error =
      io::error_of([&] { prepare_checkpoint_directory(directory_ / "file/checkpoints"); });
  EXPECT_NE(error.find("file/checkpoints: Not a directory"), std::string::npos) << error;
}

}  // namespace
}  // namespace tenax::resilience
