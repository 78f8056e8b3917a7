#include "kernels/open_files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace tenax::kernels {
namespace {

/// Puts the limit back.
class OpenFiles : public ::testing::Test {
 protected:
  OpenFiles() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFiles() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void set_limit(rlim_t soft) {
    const rlimit limit{soft, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

TEST_F(OpenFiles, are_raised_to_what_the_administrator_allows_within_reason) {
  set_limit(256);
  raise_open_files_limit();
  EXPECT_EQ(open_files_limit(), std::min<rlim_t>(hard(), 65536));
}

TEST_F(OpenFiles, that_are_more_already_are_left_alone) {
  set_limit(hard());
  raise_open_files_limit();
  EXPECT_EQ(open_files_limit(), hard());
}

TEST_F(OpenFiles, advice_names_more_than_there_are) {
  set_limit(700);
  EXPECT_EQ(more_open_files_advice().rfind("allow more: ulimit -n 1400; now 700", 0), 0U)
      << more_open_files_advice();
  set_limit(hard());
  EXPECT_NE(more_open_files_advice().find("the administrator"), std::string::npos);
}

}  // namespace
}  // namespace tenax::kernels
