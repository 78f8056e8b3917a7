// A ring whose other end counts what cannot be.
#include "comm/transport/ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tenax::comm {
namespace {

using kernels::Deadline;

class Rings : public ::testing::Test {
 protected:
  static bool alive() { return true; }
  RingControl& control() { return *reinterpret_cast<RingControl*>(memory.get()); }
  Ring::Outcome write(std::size_t bytes) {
    return ring.write(std::vector<std::byte>(bytes, std::byte{7}), Deadline::after_s(0.05), alive);
  }
  Ring::Outcome read(std::size_t bytes) {
    std::vector<std::byte> come(bytes);
    return ring.read(come, Deadline::after_s(0.05), alive);
  }

  struct Free {
    void operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> memory{new (std::align_val_t{64}) std::byte[Ring::kMemory]()};
  Ring ring{memory.get()};
};

TEST_F(Rings, carry_what_fits_and_wait_for_the_rest) {
  EXPECT_EQ(write(1000), Ring::Outcome::done);
  EXPECT_EQ(read(1000), Ring::Outcome::done);
  EXPECT_EQ(read(1), Ring::Outcome::deadline);
  EXPECT_EQ(write(Ring::kCapacity + 1), Ring::Outcome::deadline);
  EXPECT_FALSE(ring.is_damaged());
}

TEST_F(Rings, end_for_a_reader_whose_writer_counts_more_than_fits) {
  control().written = Ring::kCapacity + 1;
  EXPECT_EQ(read(10), Ring::Outcome::over);
  EXPECT_TRUE(ring.is_damaged());
  EXPECT_TRUE(ring.is_closed()) << "the other end is to notice too";
}

TEST_F(Rings, end_for_a_writer_whose_reader_counts_what_was_never_written) {
  EXPECT_EQ(write(10), Ring::Outcome::done);
  control().read = 11;
  EXPECT_EQ(write(10), Ring::Outcome::over);
  EXPECT_TRUE(ring.is_damaged());
}

TEST_F(Rings, do_not_believe_the_other_end_about_their_own_counter) {
  EXPECT_EQ(write(100), Ring::Outcome::done);
  control().written = 0;
  EXPECT_EQ(write(100), Ring::Outcome::done);
  EXPECT_EQ(control().written, 200U);
}

}  // namespace
}  // namespace tenax::comm
