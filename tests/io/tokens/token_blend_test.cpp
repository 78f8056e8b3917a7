#include "io/tokens/token_blend.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

constexpr std::int64_t kLength = 4;

TEST(BlendOrder, of_one_file_is_that_file) {
  const BlendOrder order({0.3});
  for (const std::int64_t index : {0L, 1L, 65536L, 1L << 50}) {
    EXPECT_EQ(order.place_of(index).source, 0U);
    EXPECT_EQ(order.place_of(index).index, index);
  }
}

TEST(BlendOrder, takes_from_each_file_by_its_weight) {
  const BlendOrder order({7, 2, 1});
  std::map<std::size_t, int> count;
  for (std::int64_t i = 0; i < 100000; ++i) ++count[order.place_of(i).source];
  EXPECT_NEAR(count[0], 70000, 5);
  EXPECT_NEAR(count[1], 20000, 5);
  EXPECT_NEAR(count[2], 10000, 5);
}

TEST(BlendOrder, interleaves_files_evenly) {
  const BlendOrder order({7, 2, 1});
  std::map<std::size_t, double> count;
  const double parts[] = {0.7, 0.2, 0.1};
  for (std::int64_t i = 0; i < 70000; ++i) {
    ++count[order.place_of(i).source];
    for (std::size_t source = 0; source < 3; ++source)
      ASSERT_NEAR(count[source], parts[source] * static_cast<double>(i + 1), 2.0) << i;
  }
}

TEST(BlendOrder, counts_the_samples_of_each_file_without_gaps) {
  const BlendOrder order({3, 1.7, 0.01});
  std::map<std::size_t, std::int64_t> next;
  for (std::int64_t i = 0; i < 200000; ++i) {
    const auto place = order.place_of(i);
    ASSERT_EQ(place.index, next[place.source]++) << i;
  }
  EXPECT_EQ(next.size(), 3U);
}

TEST(BlendOrder, never_leaves_a_file_out) {
  const BlendOrder order({1, 1e-9});
  std::set<std::size_t> sources;
  for (std::int64_t i = 0; i < 70000; ++i) sources.insert(order.place_of(i).source);
  EXPECT_EQ(sources.size(), 2U);
}

/// Tokens base, base + 1, … so that a window tells where it is from.
std::unique_ptr<TokenFile> counting(const TemporaryFolder& folder, int base, int count) {
  std::string bytes;
  for (int i = base; i < base + count; ++i) {
    bytes += static_cast<char>(i & 0xFF);
    bytes += static_cast<char>(i >> 8);
  }
  const auto path = folder.write(std::to_string(base) + ".bin", bytes);
  return TokenFile::open(path, "bytes", {.seq_length = kLength, .vocab_size = 65536, .scan = true});
}

/// One file of such tokens.
TokenBlend::Source counting(const TemporaryFolder& folder, int base, int count, double weight) {
  TokenBlend::Source source{.files = {}, .weight = weight};
  source.files.push_back(counting(folder, base, count));
  return source;
}

std::vector<std::int32_t> firsts(TokenBlend& blend, std::int64_t begin, std::int64_t count) {
  std::vector<std::int32_t> tokens, window(kLength + 1);
  for (std::int64_t i = begin; i < begin + count; ++i) {
    blend.read(i, window);
    for (std::size_t k = 1; k < window.size(); ++k) EXPECT_EQ(window[k], window[0] + static_cast<int>(k));
    tokens.push_back(window[0]);
  }
  return tokens;
}

std::vector<TokenBlend::Source> two_files(const TemporaryFolder& folder) {
  std::vector<TokenBlend::Source> sources;
  sources.push_back(counting(folder, 0, 5 * kLength + 1, 2));
  sources.push_back(counting(folder, 1000, 3 * kLength + 1, 1));
  return sources;
}

TEST(TokenBlend, reads_each_file_in_its_own_order) {
  const TemporaryFolder folder;
  TokenBlend blend(two_files(folder), SampleOrder::sequential, 1, kLength);
  EXPECT_EQ(firsts(blend, 0, 9), (std::vector<std::int32_t>{0, 1000, 4, 8, 1004, 12, 16, 1008, 0}));
}

TEST(TokenBlend, shuffled_goes_through_all_of_a_file_before_it_begins_again) {
  const TemporaryFolder folder;
  TokenBlend blend(two_files(folder), SampleOrder::shuffled, 1, kLength);
  std::map<std::int32_t, int> count;
  for (const std::int32_t first : firsts(blend, 0, 45)) ++count[first];
  EXPECT_EQ(count.size(), 8U);
  for (const auto& [first, times] : count) EXPECT_EQ(times, first < 1000 ? 6 : 5) << first;
}

TEST(TokenBlend, of_one_file_has_the_windows_of_window_order) {
  const TemporaryFolder folder;
  constexpr int kTokens = 50 * kLength + 1;
  std::vector<TokenBlend::Source> sources;
  sources.push_back(counting(folder, 0, kTokens, 3));
  TokenBlend blend(std::move(sources), SampleOrder::shuffled, 9, kLength);
  const WindowOrder order(SampleOrder::shuffled, 9, WindowOrder::windows_in(kTokens, kLength));
  for (std::int64_t i = 0; i < 120; ++i) ASSERT_EQ(firsts(blend, i, 1).front(), order.window_of(i) * kLength);
}

TEST(TokenBlend, shuffles_files_of_equal_length_differently) {
  const TemporaryFolder folder;
  std::vector<TokenBlend::Source> sources;
  for (const int base : {0, 10000}) sources.push_back(counting(folder, base, 100 * kLength + 1, 1));
  TokenBlend blend(std::move(sources), SampleOrder::shuffled, 1, kLength);
  std::vector<std::int32_t> of_file[2];
  for (const std::int32_t first : firsts(blend, 0, 200)) of_file[first >= 10000].push_back(first % 10000);
  ASSERT_EQ(of_file[0].size(), 100U);
  EXPECT_NE(of_file[0], of_file[1]);
}

TEST(TokenBlend, of_a_source_of_several_files_has_the_windows_of_each_file_and_none_across_two) {
  const TemporaryFolder folder;
  std::vector<TokenBlend::Source> sources(1);
  sources[0].files.push_back(counting(folder, 0, 2 * kLength + 3));  // two windows; two tokens are left over
  sources[0].files.push_back(counting(folder, 100, kLength + 1));
  sources[0].files.push_back(counting(folder, 200, 3 * kLength + 1));
  TokenBlend blend(std::move(sources), SampleOrder::sequential, 1, kLength);
  EXPECT_EQ(firsts(blend, 0, 8), (std::vector<std::int32_t>{0, 4, 100, 200, 204, 208, 0, 4}));
}

TEST(TokenBlend, shuffles_the_windows_of_several_files_as_those_of_one) {
  const TemporaryFolder folder;
  std::vector<TokenBlend::Source> sources(1);
  for (int file = 0; file < 5; ++file)
    sources[0].files.push_back(counting(folder, 1000 * file, 20 * kLength + 1));
  TokenBlend blend(std::move(sources), SampleOrder::shuffled, 3, kLength);
  const WindowOrder order(SampleOrder::shuffled, 3, 100);
  for (std::int64_t i = 0; i < 250; ++i) {
    const std::int64_t window = order.window_of(i);
    ASSERT_EQ(firsts(blend, i, 1).front(), window / 20 * 1000 + window % 20 * kLength);
  }
}

TEST(TokenBlend, draws_from_sources_without_a_weight_by_their_tokens) {
  const TemporaryFolder folder;
  std::vector<TokenBlend::Source> sources;
  sources.push_back(counting(folder, 0, 3 * kLength, 0));
  sources.push_back(counting(folder, 1000, 9 * kLength, 0));
  TokenBlend blend(std::move(sources), SampleOrder::sequential, 1, kLength);
  const auto read = firsts(blend, 0, 400);
  EXPECT_EQ(std::count_if(read.begin(), read.end(), [](std::int32_t token) { return token < 1000; }), 100);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(TokenBlend, of_hundreds_of_files_keeps_few_open_and_reads_them_all_the_same) {
  const TemporaryFolder folder;
  const std::size_t before = open_descriptors();
  std::vector<TokenBlend::Source> sources(1);
  for (int file = 0; file < 300; ++file) {
    sources[0].files.push_back(counting(folder, 100 * file, kLength + 1));
    sources[0].files.back()->close();
  }
  EXPECT_EQ(open_descriptors(), before);
  TokenBlend blend(std::move(sources), SampleOrder::sequential, 1, kLength);
  for (std::int64_t i = 0; i < 900; ++i)
    ASSERT_EQ(firsts(blend, i, 1).front(), static_cast<std::int32_t>(i % 300 * 100));
  EXPECT_LE(open_descriptors(), before + 64);
}

TEST(TokenBlend, reads_any_window_of_a_trillion_tokens) {
  const TemporaryFolder folder;
  constexpr int kFiles = 100;
  constexpr std::int64_t kTokens = 10'000'000'001;  // of a file, most of it a hole
  std::vector<TokenBlend::Source> sources(1);
  for (int file = 0; file < kFiles; ++file) {
    const auto path = folder.write(std::to_string(file) + ".bin", std::string(64, '\1'));
    std::error_code failure;
    std::filesystem::resize_file(path, 2 * kTokens, failure);
    if (failure) GTEST_SKIP() << "files of 20 GB with holes: " << failure.message();
    if (file == kFiles - 1) {
      std::fstream last(path, std::ios::in | std::ios::out | std::ios::binary);
      last.seekp(2 * (kTokens - 1)).put('\7');
    }
    sources[0].files.push_back(
        TokenFile::open(path, "bytes", {.seq_length = 1000, .vocab_size = 65536, .scan = false}));
    sources[0].files.back()->close();
  }
  constexpr std::int64_t kWindows = kFiles * ((kTokens - 1) / 1000);
  std::vector<std::int32_t> window(1001);
  TokenBlend(std::move(sources), SampleOrder::sequential, 1, 1000).read(kWindows - 1, window);
  EXPECT_EQ(window.back(), 7);
  const WindowOrder shuffled(SampleOrder::shuffled, 1, kWindows);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 10000; ++i) seen.insert(shuffled.window_of(kWindows - 1 - i));
  EXPECT_EQ(seen.size(), 10000U);
  EXPECT_LT(*seen.begin(), kWindows / 100);
  EXPECT_GT(*seen.rbegin(), kWindows / 100 * 99);
}

TEST(TokenBlend, stays_what_it_was) {
  const BlendOrder order({1, 2, 4});
  std::string sources;
  for (std::int64_t i = 0; i < 28; ++i) sources += static_cast<char>('a' + order.place_of(i).source);
  EXPECT_EQ(sources, "cbcacbccbcacbccbcacbccbcacbc");
}

}  // namespace
}  // namespace tenax::io::test
