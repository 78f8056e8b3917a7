#include "kernels/new_thread.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "tests/kernels/no_more_threads.hpp"

namespace tenax::kernels {
namespace {

TEST(NewThread, runs_its_body) {
  int runs = 0;
  new_thread([&] { ++runs; }).join();
  new_jthread([&] { ++runs; }).join();
  new_jthread([&](const std::stop_token& stop) { runs += stop.stop_requested() ? 0 : 1; }).join();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(new_async([] { return 7; }).get(), 7);
  EXPECT_THROW(new_async([] { throw std::out_of_range("it"); }).get(), std::out_of_range);
}

TEST(NewThread, that_is_not_to_be_had_is_an_error_that_says_what_to_do) {
  const std::function<void()> starts[] = {[] { new_thread([] {}).join(); }, [] { new_jthread([] {}); },
                                          [] { new_async([] {}); }};
  const NoMoreThreads none;
  for (const auto& start : starts) try {
      start();
      ADD_FAILURE() << "there was a thread";
    } catch (const Error& error) {
      EXPECT_EQ(error.scope(), Scope::rank);
      EXPECT_NE(std::string(error.what()).find("no more threads"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("raise the limit"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace tenax::kernels
