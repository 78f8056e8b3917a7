#include "kernels/cuda/choices.hpp"

#include <gtest/gtest.h>

namespace tenax::kernels::cuda {
namespace {

Choices choices_of(const std::string& machine) { return Choices(true, machine); }

TEST(CudaChoices, of_a_run_are_taken_by_the_next_one_on_such_a_machine) {
  Choices first = choices_of("H100, cuDNN 9.19");
  first.choose("product, m 4", "7");
  first.choose("attention", "engine 10");
  Choices next = choices_of("H100, cuDNN 9.19");
  next.take(first.text());
  EXPECT_EQ(next.earlier("product, m 4"), "7");
  EXPECT_EQ(next.earlier("attention"), "engine 10");
  EXPECT_FALSE(next.earlier("product, m 5"));
  EXPECT_TRUE(next.notes().empty());
  EXPECT_EQ(next.text(), first.text()) << "also what this run has not met yet";
}

TEST(CudaChoices, of_another_machine_are_kept_in_the_text_and_said_not_to_count) {
  Choices first = choices_of("H100, cuDNN 9.19");
  first.choose("attention", "engine 10");
  Choices next = choices_of("H100, cuDNN 9.20");
  next.take(first.text());
  EXPECT_FALSE(next.earlier("attention"));
  ASSERT_EQ(next.notes().size(), 1u);
  EXPECT_NE(next.notes().front().find("H100, cuDNN 9.20"), std::string::npos) << next.notes().front();
  next.choose("attention", "engine 12");
  EXPECT_EQ(next.text(),
            "H100, cuDNN 9.19 | attention | engine 10\nH100, cuDNN 9.20 | attention | engine 12\n");
}

TEST(CudaChoices, that_cannot_be_kept_give_way_to_others_and_are_counted) {
  Choices next = choices_of("H100");
  next.take("H100 | attention | engine 10\nH100 | product | 7\n");
  next.cannot_keep("attention");
  EXPECT_FALSE(next.earlier("attention"));
  next.choose("attention", "engine 1");
  EXPECT_EQ(next.text(), "H100 | attention | engine 1\nH100 | product | 7\n");
  ASSERT_EQ(next.notes().size(), 1u);
  EXPECT_TRUE(next.notes().front().starts_with("1 algorithm of the earlier run")) << next.notes().front();
}

// A run that goes on without NCCL, or with another pipeline, plans its products for another number of multiprocessors.
TEST(CudaChoices, that_were_made_for_other_multiprocessors_are_counted_as_lost) {
  Choices next = choices_of("H100");
  next.take(
      "H100 | product, on 116 | 7\nH100 | product, on 124 | 8\nH100 | other, on 116 | 9\nH100 | attention | "
      "1\n");
  next.choose("product, on 116", "7");
  next.choose("attention", "1");
  next.choose("new" + text_of_multiprocessors(116), "3");
  EXPECT_TRUE(next.notes().empty()) << next.notes().front();
  for (int time = 0; time < 2; ++time) next.choose("other" + text_of_multiprocessors(0), "2");
  ASSERT_EQ(next.notes().size(), 1u);
  EXPECT_TRUE(next.notes().front().starts_with("1 algorithm of the earlier run")) << next.notes().front();
  next.choose("product" + text_of_multiprocessors(100), "5");
  EXPECT_TRUE(next.notes().front().starts_with("2 algorithms of the earlier run")) << next.notes().front();
}

TEST(CudaChoices, a_note_is_said_once) {
  Choices choices(true);
  choices.say("attention runs on own kernels");
  choices.say("attention runs on own kernels");
  EXPECT_EQ(choices.notes().size(), 1u);
}

TEST(CudaChoices, multiprocessors_that_are_lent_when_choices_settle_stay_lent) {
  Choices choices(true);
  choices.set_multiprocessors(132);
  EXPECT_EQ(choices.multiprocessors_of_products(), 0);
  choices.lend_multiprocessors(8);
  choices.lend_multiprocessors(8);
  EXPECT_EQ(choices.multiprocessors_of_products(), 116);
  EXPECT_EQ(choices.lent_multiprocessors(), 16);
  choices.settle();
  choices.lend_multiprocessors(-16);
  choices.lend_multiprocessors(4);
  EXPECT_EQ(choices.multiprocessors_of_products(), 116);
}

}  // namespace
}  // namespace tenax::kernels::cuda
