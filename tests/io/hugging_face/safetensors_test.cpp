#include "io/hugging_face/safetensors.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "io/hugging_face/safetensors.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::io {
namespace {

class Safetensors : public DirectoryTest {
 protected:
  /// A file of this JSON, with its true length in front, and `data_bytes` bytes of data.
  std::filesystem::path file_of(const std::string& json, std::size_t data_bytes) {
    return file_of(json, data_bytes, json.size());
  }
  std::filesystem::path file_of(const std::string& json, std::size_t data_bytes, std::uint64_t claimed) {
    std::string length(8, '\0');
    std::memcpy(length.data(), &claimed, 8);
    write_file(directory_ / "x.safetensors", length + json + std::string(data_bytes, '\1'));
    return directory_ / "x.safetensors";
  }
  /// Why the file is refused.
  std::string verdict(const std::filesystem::path& file) {
    return error_of([&] { SafetensorsReader{file}; });
  }
};

std::string entry_text(const std::string& name, const std::string& dtype, const std::string& shape,
                       const std::string& place) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + place +
         "}";
}

#define EXPECT_REFUSED(file, why) EXPECT_NE(verdict(file).find(why), std::string::npos) << verdict(file)

TEST_F(Safetensors, with_a_lying_header_length_are_refused) {
  const std::string good = "{" + entry_text("a", "F32", "[2]", "[0,8]") + "}";
  EXPECT_EQ(verdict(file_of(good, 8)), "");
  EXPECT_REFUSED(file_of(good, 8, good.size() + 9), "claims");
  EXPECT_REFUSED(file_of(good, 8, 100'000'001), "claims 100000001 bytes");
  EXPECT_REFUSED(file_of(good, 8, ~std::uint64_t{0}), "claims");
  EXPECT_REFUSED(file_of(good, 8, std::uint64_t{1} << 63), "claims");
  EXPECT_REFUSED(file_of(good, 8, good.size() - 1), "JSON");
  EXPECT_REFUSED(file_of(good, 8, 0), "JSON");
  write_file(directory_ / "short", "1234567");
  EXPECT_REFUSED(directory_ / "short", "7 bytes");
  write_file(directory_ / "empty", "");
  EXPECT_REFUSED(directory_ / "empty", "0 bytes");
  EXPECT_REFUSED(directory_ / "absent", "No such file");
}

TEST_F(Safetensors, whose_tensors_do_not_fill_the_data_are_refused) {
  const auto two = [&](const std::string& a, const std::string& b, std::size_t bytes) {
    return file_of("{" + entry_text("a", "F32", "[2]", a) + "," + entry_text("b", "F32", "[1]", b) + "}",
                   bytes);
  };
  EXPECT_EQ(verdict(two("[0,8]", "[8,12]", 12)), "");
  EXPECT_EQ(verdict(two("[4,12]", "[0,4]", 12)), "");
  EXPECT_REFUSED(two("[0,8]", "[4,8]", 8), "overlaps");
  EXPECT_REFUSED(two("[0,8]", "[12,16]", 16), "hole");
  EXPECT_REFUSED(two("[4,12]", "[12,16]", 16), "hole");
  EXPECT_REFUSED(two("[0,8]", "[8,12]", 16), "its data 16");
  EXPECT_REFUSED(two("[0,8]", "[8,12]", 11), "outside");
  EXPECT_REFUSED(two("[8,0]", "[8,12]", 12), "outside");
  EXPECT_REFUSED(two("[0,8,8]", "[8,12]", 12), "outside");
  EXPECT_REFUSED(two("[-8,0]", "[8,12]", 12), "impossible number");
  EXPECT_REFUSED(two("[0,8.0]", "[8,12]", 12), "impossible number");
}

TEST_F(Safetensors, whose_lengths_do_not_fit_are_refused) {
  const auto one = [&](const std::string& dtype, const std::string& shape, std::size_t bytes) {
    return file_of("{" + entry_text("a", dtype, shape, "[0," + std::to_string(bytes) + "]") + "}", bytes);
  };
  EXPECT_EQ(verdict(one("I64", "[1,1,1,1,1,2]", 16)), "");
  EXPECT_REFUSED(one("F32", "[3]", 8), "F32 [3]");
  EXPECT_REFUSED(one("F99", "[2]", 8), "unknown type 'F99'");
  EXPECT_REFUSED(one("F32", "[4294967296,4294967296,2]", 8), "F32");
  EXPECT_REFUSED(one("F32", "[4611686018427387906]", 8), "F32");
  EXPECT_REFUSED(one("F32", "[99999999999999999999]", 8), "impossible number");
  EXPECT_REFUSED(one("F32", "[-2]", 8), "impossible number");
  EXPECT_REFUSED(one("F32", "2", 8), "no list 'shape'");
}

TEST_F(Safetensors, are_named_in_messages_without_control_characters_and_shortly) {
  EXPECT_REFUSED(file_of("{" + entry_text("\\u001b[31m\\n", "F99", "[2]", "[0,8]") + "}", 8),
                 "'\\u001b[31m\\n' has the unknown type");
  EXPECT_LE(
      verdict(file_of("{" + entry_text(std::string(100'000, 'n'), "F99", "[2]", "[0,8]") + "}", 8)).size(),
      700U);
  std::string shape = "[2";
  for (int i = 0; i < 10'000; ++i) shape += ",1";
  EXPECT_LE(verdict(file_of("{" + entry_text("a", "F32", shape + "]", "[0,4]") + "}", 4)).size(), 700U);
}

TEST_F(Safetensors, with_invalid_json_are_refused) {
  const std::string a = entry_text("a", "F32", "[2]", "[0,8]");
  EXPECT_REFUSED(file_of("{" + a + "," + a + "}", 8), "'a' twice");
  EXPECT_REFUSED(file_of("{" + entry_text("a", "F32", R"([2],"shape":[2])", "[0,8]") + "}", 8),
                 "'shape' twice");
  EXPECT_REFUSED(file_of(std::string(1'000'000, '['), 0), "its header nests more than 64 levels deep");
  EXPECT_REFUSED(file_of("[]", 0), "not a JSON object");
  EXPECT_REFUSED(file_of(R"({"a":3})", 0), "not an object");
  EXPECT_REFUSED(file_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), "unknown type");
  EXPECT_REFUSED(file_of(R"({"__metadata__":{"a":3}})", 0), "__metadata__");
  EXPECT_REFUSED(file_of("{\"\xFF\":3}", 0), "JSON");
  EXPECT_REFUSED(file_of("{}x", 0), "JSON");
}

TEST_F(Safetensors, may_hold_scalars_and_empty_tensors_at_odd_places) {
  const auto file = file_of("{" + entry_text("flag", "BOOL", "[]", "[0,1]") + "," +
                                entry_text("none", "F32", "[0,5]", "[1,1]") + "," +
                                entry_text("scalar", "F32", "[]", "[1,5]") + "}",
                            5);
  ASSERT_EQ(verdict(file), "");
  const SafetensorsReader reader(file);
  float value = 0;
  for (const SafetensorsEntry& entry : reader.entries()) {
    if (entry.name == "scalar") reader.read(entry, 0, {&value, 1});
    if (entry.name == "none") reader.read(entry, 0, {});
    if (entry.name == "flag") {
      EXPECT_THROW(reader.read(entry, 0, {&value, 1}), kernels::Error);
    }
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0x01010101U);
}

TEST_F(Safetensors, written_in_each_type_read_back_rounded_to_it) {
  std::vector<float> values = {0.0F, -0.0F, 1.0F, -2.75F, 1e-3F, 6.1e-5F, 3e-8F, 65000.0F, 1.00048828125F};
  for (const std::string dtype : {"F32", "F16", "BF16"}) {
    const auto file = directory_ / (dtype + ".safetensors");
    SafetensorsWriter writer(file, {{"a", {3}}, {"b.c", {2, 3}}}, dtype);
    writer.append(std::span(values).first(4));
    writer.append(std::span(values).subspan(4));
    EXPECT_FALSE(std::filesystem::exists(file));
    writer.publish();
    const SafetensorsReader reader(file);
    ASSERT_EQ(reader.entries().size(), 2U);
    EXPECT_EQ(reader.entries()[1].shape, (std::vector<std::int64_t>{2, 3}));
    float read[5];
    reader.read(reader.entries()[1], 1, read);
    for (std::size_t i = 0; i < 5; ++i) {
      const float value = values[4 + i];
      const float expected = dtype == "F32"   ? value
                             : dtype == "F16" ? float_of_half(half_of_float(value))
                                              : float_of_bf16(bf16_of_float(value));
      EXPECT_EQ(read[i], expected) << dtype << " " << value;
    }
    EXPECT_EQ(read_file(file)[8], '{');
    EXPECT_EQ((static_cast<unsigned char>(read_file(file)[0])) % 8, 0) << "data are aligned";
  }
}

TEST_F(Safetensors, that_are_not_finished_or_do_not_fit_leave_nothing_behind) {
  const float big = 1e6F;
  EXPECT_NE(error_of([&] {
              SafetensorsWriter writer(directory_ / "a", {{"a", {1}}}, "F16");
              writer.append({&big, 1});
            }).find("too large for F16"),
            std::string::npos);
  EXPECT_TRUE(names_in(directory_).empty());
}

TEST(Half, converts_every_bit_pattern_exactly) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = float_of_half(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_of_half(half_of_float(value)))) << bits;
    } else {
      ASSERT_EQ(half_of_float(value), bits);
    }
    const float wide = float_of_bf16(static_cast<std::uint16_t>(bits));
    ASSERT_TRUE(std::isnan(wide) || bf16_of_float(wide) == bits) << bits;
  }
  EXPECT_EQ(float_of_half(0x3555), 0.333251953125F);
  EXPECT_EQ(float_of_half(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(float_of_half(0x7BFF), 65504.0F);
}

TEST(Half, rounds_to_nearest_and_ties_to_even) {
  // Between neighbours of every finite half: the middle goes to the even one, off the middle to the nearer.
  for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
    const float low = float_of_half(static_cast<std::uint16_t>(bits)),
                high = float_of_half(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(half_of_float(middle), bits + (bits & 1U));
    ASSERT_EQ(half_of_float(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(half_of_float(-std::nextafter(middle, 1e9F)), (bits + 1) | 0x8000U);
  }
  EXPECT_EQ(half_of_float(65519.99F), 0x7BFF);
  EXPECT_EQ(half_of_float(65520.0F), 0x7C00);
  EXPECT_EQ(bf16_of_float(1.00390625F), 0x3F80);  // a tie, to even
  EXPECT_EQ(bf16_of_float(std::nextafter(1.00390625F, 2.0F)), 0x3F81);
}

}  // namespace
}  // namespace tenax::io
