#include "io/hdf5_attribute.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tenax::io {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string object(std::uint64_t number, std::uint64_t length, std::size_t content) {
  return little_endian(number, 2) + std::string(6, '\0') + little_endian(length, 8) +
         std::string(content, 'x');
}

std::string collection(const std::string& objects) {
  return std::string("GCOL\1\0\0\0", 8) + little_endian(16 + objects.size(), 8) + objects;
}

bool is_sound(const std::string& bytes) { return has_sound_heaps(std::as_bytes(std::span(bytes))); }

TEST(Hdf5Heap, is_sound_where_its_objects_follow_one_another_to_its_end) {
  EXPECT_TRUE(is_sound("no heap at all"));
  EXPECT_TRUE(is_sound(collection(object(1, 5, 8) + object(2, 8, 8) + object(0, 40, 24))));
  EXPECT_TRUE(
      is_sound("before" + collection(object(1, 5, 8) + "short") + collection(object(0, 16, 0)) + "after"));
}

TEST(Hdf5Heap, with_an_object_that_leads_nowhere_or_beyond_is_not) {
  EXPECT_FALSE(is_sound(collection(object(1, 5, 8) + object(0, 0, 24))))
      << "HDF5 would read it again and again";
  EXPECT_FALSE(is_sound(collection(object(1, 5, 8) + object(0, ~std::uint64_t{0}, 24))));
  EXPECT_FALSE(is_sound(collection(object(1, ~std::uint64_t{0} - 20, 8)))) << "its end wraps around";
  EXPECT_FALSE(is_sound(collection(object(1, 9, 8))));
  EXPECT_FALSE(is_sound(collection(object(1, 5, 8)) + collection(object(0, 0, 24))));
}

TEST(Hdf5Heap, that_ends_beyond_its_file_is_not_sound) {
  const std::string whole = collection(object(1, 5, 8));
  EXPECT_FALSE(is_sound(whole.substr(0, whole.size() - 1)));
  EXPECT_FALSE(is_sound(whole.substr(0, 10)));
  EXPECT_FALSE(is_sound(std::string("GCOL\1\0\0\0", 8) + little_endian(0, 8)));
}

}  // namespace
}  // namespace tenax::io
