// Runs a test's ranks as threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "comm/world.hpp"

namespace tenax::comm {

/// Calls `body` on `size` threads, each with its own world; an exception that leaves it fails the test.
inline void run_ranks(int size, double deadline_s, const std::function<void(World&)>& body) {
  std::vector<std::unique_ptr<World>> worlds = create_thread_worlds(size, {.deadline_s = deadline_s});
  std::vector<std::thread> threads;
  for (std::unique_ptr<World>& world : worlds)
    threads.emplace_back([&body, &world] {
      try {
        body(*world);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << world->rank() << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenax::comm
