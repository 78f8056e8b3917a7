#include "kernels/shared_library.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    return error.what();
  }
  return {};
}

TEST(SharedLibrary, finds_functions_of_a_library_that_is_there) {
  const SharedLibrary library("libm", "libm.so.6", "");
  const auto cosine = reinterpret_cast<double (*)(double)>(library.function("cos"));
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibrary, says_nothing_of_what_may_be_missing) {
  EXPECT_NE(SharedLibrary("libm", "libm.so.6", "").function_if_there("cos"), nullptr);
  EXPECT_EQ(SharedLibrary("libm", "libm.so.6", "").function_if_there("tenax_none"), nullptr);
  EXPECT_EQ(SharedLibrary("none", "libtenax-none.so.1", "libtenax-none.so").function_if_there("cos"),
            nullptr);
}

TEST(SharedLibrary, takes_the_file_of_the_build_where_the_system_knows_no_such_name) {
  const SharedLibrary library("libm", "libtenax-none.so.1", "libm.so.6");
  EXPECT_NE(library.function("cos"), nullptr);
}

TEST(SharedLibrary, names_what_is_missing_and_the_cure) {
  const SharedLibrary none("cuDNN", "libtenax-none.so.9", "/none/libtenax-none.so");
  const std::string absent = error_of([&] { none.load(); });
  EXPECT_TRUE(absent.starts_with("cannot load cuDNN (libtenax-none.so.9:")) << absent;
  EXPECT_NE(absent.find("LD_LIBRARY_PATH"), std::string::npos) << absent;
  const SharedLibrary library("libm", "libm.so.6", "");
  const std::string lacking = error_of([&] { library.function("tenax_none"); });
  EXPECT_TRUE(lacking.starts_with("the libm of this machine has no tenax_none:")) << lacking;
}

TEST(LibraryVersion, reads_both_ways_of_numbers) {
  EXPECT_EQ(LibraryVersion::of_number(91900), (LibraryVersion{9, 19, 0}));
  EXPECT_EQ(LibraryVersion::of_number(90501), (LibraryVersion{9, 5, 1}));
  EXPECT_EQ(LibraryVersion::of_number(8907), (LibraryVersion{8, 9, 7}));
  EXPECT_EQ(LibraryVersion::of_number(22809), (LibraryVersion{2, 28, 9}));
  EXPECT_EQ(LibraryVersion::of_number(2804).text(), "2.8.4");
}

TEST(LibraryVersion, that_is_too_old_is_refused_with_the_least_one) {
  constexpr LibraryVersion kLeast{9, 6, 0};
  EXPECT_EQ(error_of([&] { require_version("cuDNN", {9, 6, 0}, kLeast, "why"); }), "");
  EXPECT_EQ(error_of([&] { require_version("cuDNN", {10, 0, 0}, kLeast, "why"); }), "");
  EXPECT_EQ(error_of([&] {
              require_version("cuDNN", {9, 5, 1}, kLeast, "because");
            }),
            "cuDNN 9.5.1 is too old: 9.6.0 or newer is needed, because");
}

}  // namespace
}  // namespace tenax::kernels
