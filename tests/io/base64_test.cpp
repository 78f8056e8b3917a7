#include "io/base64.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tenax::io::test {
namespace {

TEST(Base64, is_that_of_the_standard) {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(of_base64(text), bytes);
  }
}

TEST(Base64, carries_every_byte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(of_base64(to_base64(bytes)), bytes);
}

TEST(Base64, refuses_what_it_would_not_write) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v\n", "Zm-v", "Zg==Zg=="})
    EXPECT_FALSE(of_base64(text)) << text;
}

}  // namespace
}  // namespace tenax::io::test
