#include "resilience/checkpoint/checkpoint_manager.hpp"

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "io/checkpoint/checkpoint_convert.hpp"
#include "io/checkpoint/checkpoint_export.hpp"
#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/posix_file.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/checkpoint/checkpoint_restore.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/no_more_threads.hpp"
#include "tests/resilience/checkpoint/lone_group.hpp"
#include "tests/resilience/checkpoint/sharded_state.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::resilience {
namespace {

using comm::World;
using io::kTinyModel;
using Names = std::vector<std::string>;
constexpr TestLayout kLayout = {2, 1, 2};

class Manager : public io::DirectoryTest {
 protected:
  /// `body(manager, state)` on every rank of kLayout.
  template <class Body>
  void run(std::int64_t keep, const Body& body) {
    comm::run_ranks(kLayout.ranks(), 20, [&](World& world) {
      ShardedState state(kTinyModel, kLayout, world.rank());
      state.fill();
      CheckpointManager manager({directory_, keep, kTinyModel}, world.control_group(), state.ranges());
      body(manager, state);
    });
  }
};

TEST_F(Manager, saves_the_state_of_the_moment_while_training_changes_it) {
  run(0, [&](CheckpointManager& manager, ShardedState& state) {
    for (std::uint32_t step = 1; step <= 3; ++step) {
      state.fill(step);
      manager.save_async(step, "deck");
      state.poison();
    }
    manager.wait(20);
    for (std::int64_t step = 1; step <= 3; ++step) {
      const auto report = manager.poll();
      ASSERT_TRUE(report && report->saved());
      EXPECT_EQ(report->step, step);
    }
    EXPECT_FALSE(manager.poll().has_value());
  });
  comm::run_ranks(1, 20, [&](World& world) {
    const auto group = world.control_group();
    ShardedState state(kTinyModel, {1, 1, 1}, 0);
    for (std::uint32_t step = 1; step <= 3; ++step) {
      restore_checkpoint(*group, checkpoint_name(directory_, step), state.ranges(), kTinyModel);
      EXPECT_EQ(state.wrong(step), 0);
    }
  });
}

// The ranks stand in the opposite order from the second checkpoint on.
TEST_F(Manager, saves_the_state_of_the_place_that_a_rank_has_moved_to) {
  comm::run_ranks(kLayout.ranks(), 20, [&](World& world) {
    ShardedState first(kTinyModel, kLayout, world.rank());
    ShardedState second(kTinyModel, kLayout, kLayout.ranks() - 1 - world.rank());
    CheckpointManager manager({directory_, 0, kTinyModel}, world.control_group(), first.ranges());
    first.fill(1);
    manager.save_async(1, "deck");
    manager.wait(20);
    manager.set_state(second.ranges(), {}, "1,0");
    first.poison();
    second.fill(2);
    manager.save_async(2, "deck");
    second.poison();
    manager.wait(20);
  });
  comm::run_ranks(1, 20, [&](World& world) {
    const auto group = world.control_group();
    ShardedState state(kTinyModel, {1, 1, 1}, 0);
    for (std::uint32_t step = 1; step <= 2; ++step) {
      restore_checkpoint(*group, checkpoint_name(directory_, step), state.ranges(), kTinyModel);
      EXPECT_EQ(state.wrong(step), 0);
      EXPECT_EQ(io::open_checkpoint(checkpoint_name(directory_, step)).origin.rank_places,
                step == 1 ? "" : "1,0");
    }
  });
}

// As the memory of a host is, from which a device's state is written, and which another replica's is fetched into.
TEST_F(Manager, writes_no_checkpoint_of_two_states) {
  comm::run_ranks(kLayout.ranks(), 20, [&](World& world) {
    ShardedState state(kTinyModel, kLayout, world.rank());
    CheckpointOptions options{directory_, 0, kTinyModel};
    options.fetch = [&state] { state.fill(1); };
    CheckpointManager manager(options, world.control_group(), state.ranges());
    for (std::int64_t step = 1; step <= 20; ++step) {
      manager.save_async(step, "deck");
      manager.abandon(20);
      state.poison();
      const auto report = manager.poll();
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(report->saved(), std::filesystem::exists(checkpoint_name(directory_, step)));
    }
    EXPECT_TRUE(manager.save(21, "deck").saved()) << "later ones are not abandoned";
  });
  comm::run_ranks(1, 20, [&](World& world) {
    const auto group = world.control_group();
    ShardedState state(kTinyModel, {1, 1, 1}, 0);
    for (const CheckpointFile& file : list_checkpoints(directory_)) {
      restore_checkpoint(*group, file.path, state.ranges(), kTinyModel);
      EXPECT_EQ(state.wrong(1), 0) << file.path;
    }
  });
}

// One rank hears of it first.
TEST_F(Manager, leaves_no_file_of_a_save_that_is_abandoned) {
  comm::run_ranks(kLayout.ranks(), 20, [&](World& world) {
    ShardedState state(kTinyModel, kLayout, world.rank());
    const std::atomic<bool> abandoned = world.rank() == 1;
    SaveRequest request{.directory = directory_, .step = 1, .model = kTinyModel, .deck = ""};
    request.abandoned = &abandoned;
    const SaveReport report = save_checkpoint(*world.control_group(), request, state.ranges());
    EXPECT_NE(report.failure.find("another state"), std::string::npos) << report.failure;
  });
  EXPECT_EQ(io::names_in(directory_), Names{});
}

TEST_F(Manager, keeps_as_many_as_asked_for) {
  run(2, [](CheckpointManager& manager, ShardedState&) {
    for (std::int64_t step = 10; step <= 50; step += 10) manager.save_async(step, "");
    EXPECT_TRUE(manager.save(55, "").saved());
  });
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000050.h5", "step-000055.h5"}));
}

TEST_F(Manager, saving_at_once_writes_the_same_file_as_in_the_background) {
  run(0, [](CheckpointManager& manager, ShardedState&) {
    manager.save_async(7, "x");
    manager.wait(20);
  });
  const std::string background = io::read_file(checkpoint_name(directory_, 7));
  run(0, [](CheckpointManager& manager, ShardedState&) { EXPECT_TRUE(manager.save(7, "x").saved()); });
  EXPECT_TRUE(io::read_file(checkpoint_name(directory_, 7)) == background);
}

TEST_F(Manager, asks_for_room_for_the_copies_of_all_ranks_of_the_host_until_it_has_one) {
  comm::run_ranks(1, 20, [&](World& world) {
    ShardedState state(kTinyModel, {1, 1, 1}, world.rank());
    state.fill();
    CheckpointOptions options{.directory = directory_, .keep = 0, .model = kTinyModel, .ranks_on_host = 2};
    std::size_t available = std::size_t{1} << 10;
    options.available_bytes = [&] { return available; };
    CheckpointManager manager(std::move(options), world.control_group(), state.ranges());
    EXPECT_FALSE(manager.has_room_for_copy());
    available = std::size_t{1} << 30;
    EXPECT_TRUE(manager.has_room_for_copy());
    manager.save_async(1, "deck");
    available = 0;
    EXPECT_TRUE(manager.has_room_for_copy());
  });
}

TEST_F(Manager, reports_a_full_disk_on_every_rank_leaves_nothing_and_goes_on) {
  const SmallDisk disk(directory_, 16 << 10);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  std::atomic<int> failures = 0;
  run(0, [&](CheckpointManager& manager, ShardedState&) {
    manager.save_async(1, "");
    manager.wait(20);
    const auto report = manager.poll();
    ASSERT_TRUE(report.has_value());
    EXPECT_NE(report->failure.find("No space left"), std::string::npos) << report->failure;
    ++failures;
    const SaveReport last = manager.save(2, "");
    EXPECT_NE(last.failure.find(directory_.string()), std::string::npos) << last.failure;
  });
  EXPECT_EQ(failures, kLayout.ranks());
  EXPECT_EQ(io::names_in(directory_), Names{});
}

TEST_F(Manager, saves_again_once_the_disk_has_room) {
  const SmallDisk disk(directory_, 192 << 10);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  io::write_file(directory_ / "ballast", std::string(150 << 10, 'x'));
  run(1, [&](CheckpointManager& manager, ShardedState& state) {
    EXPECT_FALSE(manager.save(1, "").saved());
    if (state.ranges().front().name == "wte.weight") std::filesystem::remove(directory_ / "ballast");
    const SaveReport second = manager.save(2, "");
    EXPECT_TRUE(second.saved()) << second.failure;
  });
  EXPECT_EQ(io::names_in(directory_), Names{"step-000002.h5"});
  EXPECT_NO_THROW(io::verify_checkpoint(checkpoint_name(directory_, 2)));
}

TEST_F(Manager, a_full_disk_at_export_leaves_nothing) {
  io::WholeState state(kTinyModel);
  io::CheckpointInfo info;
  info.model = kTinyModel;
  io::write_checkpoint(directory_ / "a.h5", info, state.ranges);
  const SmallDisk disk(directory_ / "small", 4096);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  const std::string error = io::error_of([&] {
    io::export_safetensors(io::open_verified_checkpoint(directory_ / "a.h5"),
                           directory_ / "small/a.safetensors", {});
  });
  EXPECT_NE(error.find("No space left"), std::string::npos) << error;
  const std::string import_error = io::error_of([&] {
    io::export_safetensors(io::open_verified_checkpoint(directory_ / "a.h5"), directory_ / "a.safetensors",
                           {});
    io::import_safetensors(directory_ / "a.safetensors", directory_ / "small/a.h5", {});
  });
  EXPECT_NE(import_error.find("small/a.h5: No space left"), std::string::npos) << import_error;
  EXPECT_EQ(io::names_in(directory_ / "small"), Names{});
}

TEST_F(Manager, makes_a_directory_that_was_removed_again) {
  run(0, [&](CheckpointManager& manager, ShardedState&) {
    std::error_code ignored;
    std::filesystem::remove(directory_, ignored);
    const SaveReport report = manager.save(3, "");
    EXPECT_TRUE(report.saved()) << report.failure;
  });
  EXPECT_EQ(io::names_in(directory_), Names{"step-000003.h5"});
}

TEST_F(Manager, drops_old_checkpoints_where_the_disk_has_no_room_for_as_many_as_asked_for) {
  run(0, [](CheckpointManager& manager, ShardedState&) { EXPECT_TRUE(manager.save(1, "").saved()); });
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(checkpoint_name(directory_, 1)));
  const SmallDisk disk(directory_, bytes * 5 / 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  run(3, [](CheckpointManager& manager, ShardedState&) {
    for (std::int64_t step = 10; step <= 50; step += 10) {
      const SaveReport report = manager.save(step, "");
      EXPECT_TRUE(report.saved()) << report.failure;
    }
  });
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000040.h5", "step-000050.h5"}));
}

// Who holds removed files open holds their room too, as file systems do that free it behind.
TEST_F(Manager, waits_for_the_room_of_a_checkpoint_before_it_drops_another_one) {
  run(0, [](CheckpointManager& manager, ShardedState&) { EXPECT_TRUE(manager.save(1, "").saved()); });
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(checkpoint_name(directory_, 1)));
  const SmallDisk disk(directory_, bytes * 7 / 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  run(3, [](CheckpointManager& manager, ShardedState&) {
    for (std::int64_t step = 10; step <= 30; step += 10) EXPECT_TRUE(manager.save(step, "").saved());
  });
  std::optional<io::PosixFile> first = io::PosixFile::open_to_read(checkpoint_name(directory_, 10));
  std::optional<io::PosixFile> second = io::PosixFile::open_to_read(checkpoint_name(directory_, 20));
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    first.reset();
    second.reset();
  });
  run(3, [](CheckpointManager& manager, ShardedState&) {
    const SaveReport report = manager.save(40, "");
    EXPECT_TRUE(report.saved()) << report.failure;
  });
  closer.join();
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000020.h5", "step-000030.h5", "step-000040.h5"}));
}

TEST_F(Manager, drops_one_checkpoint_alone_where_that_gives_no_room) {
  run(0, [](CheckpointManager& manager, ShardedState&) { EXPECT_TRUE(manager.save(1, "").saved()); });
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(checkpoint_name(directory_, 1)));
  const SmallDisk disk(directory_, bytes * 7 / 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  const io::WholeState state(kTinyModel);
  CheckpointOptions options{directory_, 3, kTinyModel};
  options.room_wait_s = 0.2;
  CheckpointManager manager(options, std::make_unique<LoneGroup>([] {}), state.ranges);
  for (std::int64_t step = 10; step <= 30; step += 10) EXPECT_TRUE(manager.save(step, "").saved());
  const auto held = io::PosixFile::open_to_read(checkpoint_name(directory_, 10));
  const SaveReport report = manager.save(40, "");
  EXPECT_NE(report.failure.find("No space left"), std::string::npos) << report.failure;
  EXPECT_EQ(io::names_in(directory_), (Names{"step-000020.h5", "step-000030.h5"}));
}

TEST_F(Manager, a_directory_that_cannot_be_made_is_refused_on_every_rank) {
  io::write_file(directory_ / "file", "");
  comm::run_ranks(3, 20, [&](World& world) {
    const std::string error = io::error_of([&] {
      CheckpointManager({directory_ / "file" / "x", 3, kTinyModel}, world.control_group(), {});
    });
    EXPECT_NE(error.find("file/x"), std::string::npos) << error;
  });
}

std::unique_ptr<comm::ControlGroup> slow_group() {
  return std::make_unique<LoneGroup>([] { std::this_thread::sleep_for(std::chrono::milliseconds(400)); });
}

// Training goes on, and the next save may have a thread.
TEST_F(Manager, reports_a_save_that_gets_no_thread_as_a_failed_one) {
  const io::WholeState state(kTinyModel);
  CheckpointManager manager({directory_, 3, kTinyModel}, std::make_unique<LoneGroup>([] {}), state.ranges);
  {
    const kernels::NoMoreThreads none;
    manager.save_async(1, "");
  }
  EXPECT_FALSE(manager.is_saving());
  const auto failed = manager.poll();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->step, 1);
  EXPECT_NE(failed->failure.find("no more threads"), std::string::npos) << failed->failure;
  EXPECT_EQ(io::names_in(directory_), Names{});
  manager.save_async(2, "");
  manager.wait(20);
  const auto second = manager.poll();
  EXPECT_TRUE(second && second->saved());
}

TEST_F(Manager, fails_on_all_ranks_a_save_that_one_cannot_take_part_in) {
  comm::run_ranks(kLayout.ranks(), 20, [&](World& world) {
    ShardedState state(kTinyModel, kLayout, world.rank());
    state.fill();
    const auto group = world.control_group();
    SaveRequest request{.directory = directory_, .step = 1, .model = kTinyModel, .deck = ""};
    if (world.rank() == 1) request.refusal = "no thread";
    EXPECT_EQ(save_checkpoint(*group, request, state.ranges()).failure, "no thread");
    request.refusal.clear();
    request.step = 2;
    EXPECT_TRUE(save_checkpoint(*group, request, state.ranges()).saved());
  });
  EXPECT_EQ(io::names_in(directory_), Names{"step-000002.h5"});
}

// Messages enough that all of it takes longer than the patience, but not one of its parts.
TEST_F(Manager, waits_for_a_save_as_long_as_it_gets_on) {
  const io::WholeState state(kTinyModel);
  CheckpointManager manager({directory_, 3, kTinyModel}, slow_group(), state.ranges);
  manager.save_async(1, "");
  manager.wait(3);
  const auto report = manager.poll();
  ASSERT_TRUE(report && report->saved());
  EXPECT_GT(report->seconds, 3);
}

TEST_F(Manager, gives_up_a_save_that_does_not_get_on) {
  const io::WholeState state(kTinyModel);
  CheckpointManager manager({directory_, 3, kTinyModel}, slow_group(), state.ranges);
  manager.save_async(1, "");
  EXPECT_NE(io::error_of([&] { manager.wait_some(0.3, 0.05); }).find("not written in time"),
            std::string::npos);
}

// The peers never save, and the group would wait for an hour.
TEST_F(Manager, an_error_on_one_rank_does_not_wait_for_a_save_that_its_peers_never_join) {
  std::latch told(1);
  comm::run_ranks(kLayout.ranks(), 3600, [&](World& world) {
    ShardedState state(kTinyModel, kLayout, world.rank());
    const auto train = [&] {
      CheckpointOptions options{directory_, 3, kTinyModel};
      options.unwinding_s = 0.5;
      CheckpointManager manager(options, world.control_group(), state.ranges());
      if (world.rank() != 0) return told.wait();
      manager.save_async(1, "");
      throw kernels::Error(kernels::Scope::rank, "the fault");
    };
    if (world.rank() != 0) return train();
    EXPECT_EQ(io::error_of(train), "the fault");
    told.count_down();
  });
  EXPECT_EQ(io::names_in(directory_), Names{});
}

// A process saves for ever and is killed in the midst, at moments that differ: until a kill has left complete checkpoints and
// one has torn a save, or after 100 kills. On a busy machine the early ones come before the first save.
TEST_F(Manager, a_run_killed_while_saving_leaves_only_complete_checkpoints) {
  std::size_t complete = 0, torn = 0;
  for (int kills = 0; kills < 14 || (kills < 100 && (complete == 0 || torn == 0)); ++kills) {
    const pid_t child = fork();
    if (child == 0) {
      const io::WholeState state(kTinyModel);
      io::CheckpointInfo info;
      info.model = kTinyModel;
      for (info.step = 0;; ++info.step)
        io::write_checkpoint(checkpoint_name(directory_, info.step), info, state.ranges);
    }
    usleep(static_cast<useconds_t>(1 + 3 * kills) * 1000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const CheckpointFile& file : list_checkpoints(directory_))
      EXPECT_NO_THROW(io::verify_seal(file.path));
    complete += list_checkpoints(directory_).size();
    torn += io::names_in(directory_).size() - list_checkpoints(directory_).size();
    prepare_checkpoint_directory(directory_);
    EXPECT_EQ(io::names_in(directory_).size(), list_checkpoints(directory_).size());
    remove_old_checkpoints(directory_, 1, -1);
  }
  EXPECT_GT(complete, 0U);
  EXPECT_GT(torn, 0U) << "no kill fell into a save: the test showed nothing";
}

}  // namespace
}  // namespace tenax::resilience
