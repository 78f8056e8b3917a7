// Processes that stop or die at a point of a step: nothing is done after it.
#include "resilience/faults/process_faults.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace tenax::resilience {
namespace {

/// A child that comes to the point in a thread beside its first one, and goes on to write to `pipe`.
pid_t start_child(bool stops, int pipe) {
  const pid_t child = fork();
  if (child != 0) return child;
  const ProcessFaults faults({{.occasion = FaultOccasion({}, {}), .victim = getpid(), .stops = stops}});
  std::thread([&] {
    faults.reach(StepPoint::passes, 0, 0);
    while (write(pipe, "x", 1) != 1) {
    }
  }).join();
  _exit(0);
}

// A signal for the whole process may be another thread's to take, until whose turn this one would go on.
TEST(ProcessFaults, let_nothing_be_done_after_the_point) {
  for (int round = 0; round < 100; ++round)
    for (const bool stops : {true, false}) {
      int ends[2];
      ASSERT_EQ(pipe(ends), 0);
      const pid_t child = start_child(stops, ends[1]);
      close(ends[1]);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
      EXPECT_TRUE(stops ? WIFSTOPPED(status) : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      if (stops) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
      }
      char written = 0;
      EXPECT_EQ(read(ends[0], &written, 1), 0) << "round " << round;
      close(ends[0]);
    }
}

}  // namespace
}  // namespace tenax::resilience
