#include "io/run/directory_lock.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "io/run/lock_watch.hpp"
#include "kernels/deadline.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

const LockOwner kMe = {"here", 100, 5000, "", 0, 0};
const LockOwner kElsewhere = {"there", 100, 5000, "77", 0, 1795000000};

/// A child that holds `directory` until it is killed.
pid_t child_that_locks(const fs::path& directory) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const DirectoryLock lock(directory);
    [[maybe_unused]] const auto written = write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(DirectoryLock, lets_nobody_else_in_and_names_who_holds_it) {
  const TemporaryFolder folder;
  const pid_t child = child_that_locks(folder.path());
  const auto [message, status] = error_of([&] { DirectoryLock(folder.path()); });
  EXPECT_TRUE(message.starts_with(folder.path().string() + " is in use by another run: process " +
                                  std::to_string(child) + " on " + LockOwner::this_process().host))
      << message;
  EXPECT_EQ(status, 1);
  EXPECT_EQ(error_of([&] { DirectoryLock::check_free(folder.path()); }).first, message);
  end(child);
}

TEST(DirectoryLock, of_a_killed_process_hinders_nobody) {
  const TemporaryFolder folder;
  end(child_that_locks(folder.path()));
  EXPECT_TRUE(fs::exists(folder.path() / ".lock"));
  DirectoryLock::check_free(folder.path());
  const DirectoryLock lock(folder.path());
  EXPECT_NE(folder.read(".lock").find("\"pid\": " + std::to_string(getpid())), std::string::npos);
}

// Who knows that the owner is gone says so for hosts that cannot see it.
TEST(DirectoryLock, is_discarded_unless_it_is_held) {
  const TemporaryFolder folder;
  const pid_t child = child_that_locks(folder.path());
  DirectoryLock::discard(folder.path());
  EXPECT_TRUE(fs::exists(folder.path() / ".lock"));
  end(child);
  DirectoryLock::discard(folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / ".lock"));
  folder.write(".lock",
               R"({"host": "there", "pid": 1, "pid_start": 1, "job": "", "restart": 0, "time": 1.5})");
  EXPECT_NE(error_of([&] { DirectoryLock::check_free(folder.path()); }).first.find("on another host"),
            std::string::npos);
  DirectoryLock::discard(folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / ".lock"));
  DirectoryLock::discard(folder.path());
}

TEST(DirectoryLock, leaves_nothing_but_what_others_wrote) {
  const TemporaryFolder folder;
  { const DirectoryLock lock(folder.path() / "a/b"); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  {
    const DirectoryLock lock(folder.path() / "a/b");
    folder.write("a/b/file", "");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "a/b"), {}), 1);
}

TEST(DirectoryLock, is_not_handed_to_programs_that_the_process_starts) {
  const TemporaryFolder folder;
  const DirectoryLock lock(folder.path());
  EXPECT_NE(std::system(("ls -l /proc/self/fd | grep -q " + (folder.path() / ".lock").string()).c_str()), 0);
}

TEST(DirectoryLock, follows_no_link) {
  const TemporaryFolder folder;
  const fs::path target = folder.write("target", "precious");
  fs::create_directory(folder.path() / "run");
  fs::create_symlink(target, folder.path() / "run/.lock");
  EXPECT_EQ(error_of([&] { DirectoryLock(folder.path() / "run"); }).second, 1);
  EXPECT_EQ(folder.read("target"), "precious");
}

TEST(DirectoryLock, is_renewed_where_its_directory_was_removed_or_moved) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", moved = folder.path() / "moved";
  DirectoryLock lock(run);
  EXPECT_TRUE(lock.in_place());
  fs::remove_all(run);
  EXPECT_FALSE(lock.in_place());
  lock.renew();
  EXPECT_TRUE(lock.in_place());
  fs::rename(run, moved);
  EXPECT_FALSE(lock.in_place());
  lock.renew();
  EXPECT_TRUE(fs::is_empty(moved)) << "the moved directory is still locked";
  EXPECT_EQ(error_of([&] { DirectoryLock::check_free(run); }).second, 1);
}

TEST(DirectoryLock, gives_way_to_who_has_taken_the_directory_meanwhile) {
  const TemporaryFolder folder;
  DirectoryLock lock(folder.path());
  fs::remove(folder.path() / ".lock");
  const DirectoryLock other(folder.path());
  EXPECT_EQ(error_of([&] { lock.renew(); }).second, 1);
}

TEST(DirectoryLock, is_renewed_while_somebody_still_removes_the_directory) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  DirectoryLock lock(run);
  std::atomic<bool> removing = true;
  std::thread remover([&] {
    for (int i = 0; i < 2000; ++i) {
      std::error_code ignored;
      fs::remove_all(run, ignored);
    }
    removing = false;
  });
  while (removing) EXPECT_NO_THROW(lock.renew());
  remover.join();
  lock.renew();
  EXPECT_TRUE(lock.in_place());
}

TEST(LockObstacle, a_dead_process_of_this_host_is_none) {
  LockOwner dead = kMe;
  dead.pid = 0x7fffffff;
  EXPECT_EQ(lock_obstacle("d", LockState::free, dead, kMe), "");
  EXPECT_EQ(lock_obstacle("d", LockState::unknown, dead, kMe), "");
}

TEST(LockObstacle, where_there_are_no_locks_a_living_process_is_known_by_number_and_start) {
  LockOwner me = LockOwner::this_process();
  EXPECT_NE(lock_obstacle("d", LockState::unknown, me, me).find("is in use"), std::string::npos);
  --me.pid_start;  // its number was given to another process since
  EXPECT_EQ(lock_obstacle("d", LockState::unknown, me, me), "");
}

TEST(LockObstacle, a_stale_lock_of_another_host_is_named_for_deletion) {
  for (const LockState state : {LockState::free, LockState::unknown}) {
    const std::string obstacle = lock_obstacle("/d", state, kElsewhere, kMe);
    EXPECT_NE(obstacle.find("process 100 on there (job 77), since 2026-11-18 11:06:40 UTC"),
              std::string::npos)
        << obstacle;
    EXPECT_NE(obstacle.find("delete /d/.lock"), std::string::npos) << obstacle;
  }
  EXPECT_NE(lock_obstacle("/d", LockState::held, kElsewhere, kMe).find("is in use"), std::string::npos);
}

TEST(LockObstacle, a_job_that_was_put_back_into_the_queue_takes_over_from_itself) {
  LockOwner me = kMe;
  me.job = kElsewhere.job;
  EXPECT_NE(lock_obstacle("d", LockState::free, kElsewhere, me), "") << "another step of the same start";
  me.restart = 1;
  EXPECT_EQ(lock_obstacle("d", LockState::free, kElsewhere, me), "");
  EXPECT_NE(lock_obstacle("d", LockState::held, kElsewhere, me), "");
  me.job = "78";
  EXPECT_NE(lock_obstacle("d", LockState::free, kElsewhere, me), "");
}

constexpr double kPatience_s = 0.3;

/// Of a process on another host.
void leave_lock(const fs::path& directory, bool beats) {
  fs::create_directories(directory);
  std::ofstream(directory / ".lock")
      << R"({"host": "there", "pid": 1, "pid_start": 2, "job": "77", "restart": 0, "time": 1.5, "beats": )"
      << (beats ? "true}" : "false}");
}

/// Until the watch is over.
void watch(LockWatch& locks) {
  while (!locks.is_over()) {
    locks.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(LockWatch, takes_locks_that_no_host_touches_any_more_away_all_at_once) {
  const TemporaryFolder folder;
  const std::vector<fs::path> directories = {folder.path() / "run", folder.path() / "checkpoints"};
  for (const fs::path& directory : directories) leave_lock(directory, true);
  EXPECT_EQ(error_of([&] { DirectoryLock lock(directories[0]); }).second, 1);
  LockWatch locks(directories, kPatience_s);
  EXPECT_EQ(locks.text(), directories[0].string() +
                              " was locked by process 1 on there (job 77), since 1970-01-01 00:00:01 UTC: "
                              "looking for 0 s whether it still runs");
  locks.look();
  EXPECT_TRUE(fs::exists(directories[1] / ".lock")) << "it is not time yet";
  watch(locks);
  for (const fs::path& directory : directories) EXPECT_NO_THROW(DirectoryLock lock(directory));
}

TEST(LockWatch, names_an_owner_that_lives) {
  const TemporaryFolder folder;
  leave_lock(folder.path(), true);
  LockWatch locks({folder.path()}, 60);
  const fs::path file = folder.path() / ".lock";
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::milliseconds(1));
  const std::string message = error_of([&] { locks.look(); }).first;
  EXPECT_TRUE(message.starts_with(folder.path().string() + " is in use by another run: process 1 on there"))
      << message;
  EXPECT_TRUE(fs::exists(file));
}

TEST(LockWatch, begins_anew_after_the_file_system_or_this_process_stood_still) {
  const TemporaryFolder folder;
  leave_lock(folder.path(), true);
  LockWatch locks({folder.path()}, kPatience_s);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  locks.look();
  EXPECT_TRUE(fs::exists(folder.path() / ".lock")) << "the owner had no time to touch it either";
  watch(locks);
  EXPECT_FALSE(fs::exists(folder.path() / ".lock"));
}

TEST(LockWatch, leaves_locks_to_others_that_beat_not_or_are_of_this_host) {
  const TemporaryFolder folder;
  const fs::path old = folder.path() / "old", here = folder.path() / "here";
  leave_lock(old, false);
  const DirectoryLock lock(here);
  EXPECT_TRUE(LockWatch({old, here, folder.path() / "absent"}, kPatience_s).is_over());
}

TEST(LockWatch, is_over_where_the_owner_ends_meanwhile) {
  const TemporaryFolder folder;
  leave_lock(folder.path(), true);
  LockWatch locks({folder.path()}, 60);
  fs::remove(folder.path() / ".lock");
  locks.look();
  EXPECT_TRUE(locks.is_over());
}

TEST(LockBeat, changes_the_modification_time_until_it_ends) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("lock", "x");
  const PosixFile open = PosixFile::open_to_write(file);
  const auto before = fs::last_write_time(file);
  {
    const LockBeat beat(open.descriptor(), 0.01);
    const auto latest = kernels::Deadline::after_s(60);
    while (fs::last_write_time(file) == before && !latest.expired())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto after = fs::last_write_time(file);
  EXPECT_NE(after, before);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(fs::last_write_time(file), after);
}

}  // namespace
}  // namespace tenax::io::test
