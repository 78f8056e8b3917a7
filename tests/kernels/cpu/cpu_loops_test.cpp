// Which set of loops a process computes with.
#include "kernels/cpu/cpu_loops.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "kernels/cpu/matmul_onednn.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

const CpuLoops& loops_few() {
  static constexpr CpuLoops kFew{.name = "few"};
  return kFew;
}
const CpuLoops& loops_more() {
  static constexpr CpuLoops kMore{.name = "more"};
  return kMore;
}
const CpuLoops& loops_slow() {
  static constexpr CpuLoops kSlow{.name = "slow"};
  return kSlow;
}
const CpuLoops& loops_most() {
  static constexpr CpuLoops kMost{.name = "most"};
  return kMost;
}
constexpr std::array kSets{CpuLoopsChoice{"few", &loops_few, true}, CpuLoopsChoice{"more", &loops_more, true},
                           CpuLoopsChoice{"slow", &loops_slow, true, false},
                           CpuLoopsChoice{"most", &loops_most, false}};

std::string refusal_of(const char* wanted) {
  try {
    choose_loops(kSets, wanted);
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::usage);
    return error.what();
  }
  return "none";
}

TEST(CpuLoops, are_the_last_set_that_runs_here_and_pays_unless_another_one_is_named) {
  EXPECT_STREQ(choose_loops(kSets, nullptr).name, "more");
  EXPECT_STREQ(choose_loops(kSets, "").name, "more");
  EXPECT_STREQ(choose_loops(kSets, "few").name, "few");
  EXPECT_STREQ(choose_loops(kSets, "slow").name, "slow");
}

TEST(CpuLoops, that_are_unknown_or_beyond_this_processor_are_refused_with_the_others_named) {
  for (const char* const wanted : {"most", "best"})
    EXPECT_EQ(refusal_of(wanted), "TENAX_CPU_LOOPS=" + std::string(wanted) +
                                      ": this program and processor have few, more, slow, most (not here)");
}

TEST(CpuLoops, of_this_build_begin_with_one_for_every_processor_and_answer_to_their_names) {
  ASSERT_FALSE(built_loops().empty());
  EXPECT_TRUE(built_loops().front().runs_here);
  for (const CpuLoopsChoice& set : built_loops())
    if (set.runs_here) {
      EXPECT_STREQ(set.loops().name, set.name);
    }
}

TEST(CpuLoops, that_differ_in_attention_and_products_of_bf16_alone_have_one_base) {
  for (const CpuLoopsChoice& set : built_loops())
    if (set.runs_here) {
      const std::string name = set.name;
      EXPECT_EQ(set.loops().base, name == "amx" || name == "avx512_bf16" ? "avx512" : name);
    }
}

TEST(CpuLoops, without_instructions_for_bf16_leave_no_product_of_it_to_onednn) {
  for (const CpuLoopsChoice& set : built_loops())
    if (set.runs_here) {
      const std::string name = set.name;
      const auto expected = name == "amx"           ? Bf16Instructions::tiles
                            : name == "avx512_bf16" ? Bf16Instructions::pairs
                                                    : Bf16Instructions::none;
      EXPECT_EQ(set.loops().bf16, expected) << name;
    }
  if (cpu_loops().bf16 == Bf16Instructions::none) {
    EXPECT_FALSE(OneDnnProducts::has_bf16());
  }
}

}  // namespace
}  // namespace tenax::kernels
