#include "app/stop_signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace tenax::app {
namespace {

// The first of this process: what has come is known for ever.
TEST(StopSignals, that_ask_for_nothing_are_known_before_and_after_they_are_taken) {
  StopSignals signals(false);
  EXPECT_FALSE(StopSignals::is_terminated());
  std::raise(SIGTERM);
  EXPECT_TRUE(StopSignals::is_terminated());
  EXPECT_FALSE(signals.requested());
  EXPECT_TRUE(StopSignals::is_terminated());
}

// In processes of their own, to which no signal has come yet.
TEST(EndBySigterm, ends_a_process_whose_signals_are_held_and_only_while_it_lives) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopSignals::hold();
        const EndBySigterm while_starting;
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::seconds(30));
      },
      testing::ExitedWithCode(1), "");
  EXPECT_EXIT(
      {
        StopSignals::hold();
        { const EndBySigterm while_starting; }
        kill(getpid(), SIGTERM);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(StopSignals, that_came_while_they_were_held_are_taken_and_end_nothing) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    StopSignals::hold();
    std::raise(signal);
    StopSignals signals;
    EXPECT_TRUE(signals.requested());
    EXPECT_FALSE(StopSignals().requested()) << "a signal asks once";
  }
}

}  // namespace
}  // namespace tenax::app
