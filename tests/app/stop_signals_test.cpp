#include "app/stop_signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace tenax::app {
namespace {

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
