#include "resilience/diagnosis/preemption.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "kernels/deadline.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;

// A folder with the kernel's files of a process on processors 1 and 3.
class KernelFiles : public testing::Test {
 protected:
  KernelFiles() {
    std::string name = (fs::temp_directory_path() / "tenax-preemption-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    root_ = name;
    fs::create_directory(root_ / "task");
    write_stolen(0, 0);
  }
  ~KernelFiles() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void write_task(const std::string& task, const std::string& text) const {
    fs::create_directory(root_ / "task" / task);
    std::ofstream(root_ / "task" / task / "schedstat") << text;
  }
  void write_wait(const std::string& task, int milliseconds) const {
    write_task(task, "123456789 " + std::to_string(milliseconds) + "000000 77\n");
  }
  // Of processor 0 much is stolen, but it is another process's.
  void write_stolen(int first_ticks, int other_ticks) const {
    const auto line = [](const std::string& name, int stolen) {
      return name + " 11 22 33 44 55 66 77 " + std::to_string(stolen) + " 0 0\n";
    };
    std::ofstream(root_ / "stat") << line("cpu ", 99999) << line("cpu0", 100 * first_ticks + 5000)
                                  << line("cpu1", first_ticks) << line("cpu2", 0) << line("cpu3", other_ticks)
                                  << line("cpu13", 99999) << "intr 1 2 3\n";
  }
  Preemption preemption() const {
    return Preemption(100, {.tasks = root_ / "task", .processors = root_ / "stat", .allowed = {1, 3}});
  }

  fs::path root_;
};

TEST_F(KernelFiles, tell_the_wait_of_the_thread_that_waited_longest) {
  write_wait("10", 500);
  write_wait("11", 3000);
  Preemption preemption = this->preemption();
  EXPECT_EQ(preemption.take(101), 0) << "since the constructor";
  write_wait("10", 540);
  write_wait("11", 3010);
  EXPECT_NEAR(preemption.take(102), 0.040, 1e-9);
  EXPECT_EQ(preemption.take(103), 0);
  write_wait("11", 3050);
  EXPECT_NEAR(preemption.take(104), 0.040, 1e-9);
}

TEST_F(KernelFiles, of_a_thread_that_comes_count_from_when_it_is_seen) {
  write_wait("10", 0);
  Preemption preemption = this->preemption();
  write_wait("12", 700);
  for (int call = 0; call < 16; ++call) EXPECT_EQ(preemption.take(101 + call), 0);
  write_wait("12", 730);
  EXPECT_NEAR(preemption.take(120), 0.030, 1e-9);
}

TEST_F(KernelFiles, of_a_thread_that_goes_are_let_go) {
  write_wait("10", 0);
  write_wait("11", 0);
  Preemption preemption = this->preemption();
  write_task("11", "");  // read as of a thread that has ended
  write_wait("10", 20);
  EXPECT_NEAR(preemption.take(101), 0.020, 1e-9);
  fs::remove_all(root_ / "task" / "10");
  for (int call = 0; call < 32; ++call) EXPECT_EQ(preemption.take(102 + call), 0);
}

TEST_F(KernelFiles, that_are_absent_or_of_another_form_count_as_nothing) {
  write_task("10", "no number\n");
  write_task("11", "1 x 2\n");
  std::ofstream(root_ / "stat") << "cpu1 1 2\ncpu3\n";
  Preemption odd = preemption();
  EXPECT_EQ(odd.take(200), 0);
  Preemption absent(100, {.tasks = root_ / "none", .processors = root_ / "none", .allowed = {1}});
  EXPECT_EQ(absent.take(200), 0);
  Preemption nowhere(100, {.tasks = root_ / "task", .processors = root_ / "stat", .allowed = {}});
  EXPECT_EQ(nowhere.take(200), 0);
}

TEST_F(KernelFiles, tell_what_is_stolen_of_the_process_s_processors) {
  Preemption preemption = this->preemption();
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto ticks = [&](double seconds) { return static_cast<int>(seconds / tick_s + 0.5); };
  write_stolen(ticks(0.2), ticks(0.6));
  EXPECT_NEAR(preemption.take(102), 0.4, 1e-9) << "their mean";
  EXPECT_NEAR(preemption.take(102.05), 0.01, 1e-9) << "not read again for 0.1 s: at the same rate";
  EXPECT_NEAR(preemption.take(102.2), 0, 1e-9);
}

TEST_F(KernelFiles, tell_no_more_than_the_time_that_has_passed) {
  write_wait("10", 0);
  Preemption preemption = this->preemption();
  write_wait("10", 5000);
  EXPECT_EQ(preemption.take(101), 1);
}

bool pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// Two threads on one processor, both of which are busy: one or the other waits half of the time, and
// longer where others are there.
TEST(Preemption, of_threads_that_share_a_processor_is_seen) {
  if (!fs::exists("/proc/self/schedstat")) GTEST_SKIP() << "the kernel tells no run-queue waits";
  const int processor = allowed_processors().at(0);
  std::atomic<bool> is_over = false;
  std::atomic<int> pinned = 0;
  const auto work = [&] {
    pinned += pin_to(processor) ? 1 : -2;
    while (!is_over) {
    }
  };
  std::thread one(work), other(work);
  const kernels::Deadline patience = kernels::Deadline::after_s(20);
  while (pinned >= 0 && pinned < 2 && !patience.expired()) std::this_thread::yield();
  const double begin_s = kernels::steady_now_s();
  Preemption preemption(begin_s);
  kernels::sleep_until_s(begin_s + 0.5);
  const double now_s = kernels::steady_now_s();
  const double share = preemption.take(now_s) / (now_s - begin_s);
  is_over = true;
  one.join();
  other.join();
  if (pinned != 2) GTEST_SKIP() << "threads cannot be pinned here";
  EXPECT_GT(share, 0.2);
}

}  // namespace
}  // namespace tenax::resilience
