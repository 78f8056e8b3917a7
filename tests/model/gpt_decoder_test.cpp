// A model that generates with a cache against the same model that computes every text anew.
#include "model/gpt_decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "comm/world.hpp"
#include "kernels/random.hpp"
#include "model/gpt_scorer.hpp"

namespace tenax::model {
namespace {

using kernels::DType;

const GptConfig kDecoderConfig{3, 24, 3, 56, 21, 70, DType::f32};  // uneven vocabulary and width

kernels::Deadline soon() { return kernels::Deadline::after_s(60); }

class GptDecoderTest : public testing::Test {
 protected:
  GptDecoderTest() {
    std::vector<std::int64_t> offsets;
    std::int64_t size = 0;
    for (const ParameterRow& row : decoder_.parameters().rows()) {
      offsets.push_back(size);
      size += row.size();
    }
    decoder_.parameters().place(offsets);
    weights_ = device_->allocate(static_cast<std::size_t>(size) * sizeof(float));
    const kernels::CounterRandom random(4, "weights");
    for (std::int64_t i = 0; i < size; ++i)
      static_cast<float*>(weights_->data())[i] =
          static_cast<float>(0.3 * random.normal(static_cast<std::uint64_t>(i)));
    decoder_.bind(weights_->tensor(DType::f32, {size}));
    for (std::uint64_t i = 0; i < 21; ++i) text_.push_back(static_cast<std::int32_t>(random.bits(i) % 70));
  }
  std::vector<float> logits() {
    const auto view = decoder_.logits(soon());
    return {view.begin(), view.end()};
  }
  /// Of the first `count` tokens, computed anew.
  std::vector<float> recomputed(std::size_t count) {
    decoder_.start(std::span(text_).first(count));
    return logits();
  }

  std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
  std::unique_ptr<kernels::Stream> stream_ = device_->create_stream();
  std::vector<std::unique_ptr<comm::World>> worlds_ = comm::create_thread_worlds(1, {60});
  std::unique_ptr<comm::Communicator> alone_ = worlds_[0]->split_communicator("tensor", 0, 0, *device_);
  GptDecoder decoder_{kDecoderConfig, *alone_, *device_, *stream_};
  std::unique_ptr<kernels::Buffer> weights_;
  std::vector<std::int32_t> text_;
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "token " << i;
}

TEST_F(GptDecoderTest, the_cache_gives_the_logits_of_a_full_recomputation_at_every_position) {
  std::vector<std::vector<float>> expected;
  for (std::size_t count = 1; count <= text_.size(); ++count) expected.push_back(recomputed(count));
  for (const std::size_t prompt : {1U, 7U, 20U}) {
    decoder_.start(std::span(text_).first(prompt));
    for (std::size_t at = prompt; at < text_.size(); ++at) {
      decoder_.append(text_[at]);
      expect_near(logits(), expected[at], 1e-5F);
    }
    EXPECT_EQ(decoder_.length(), kDecoderConfig.seq_length);
  }
}

TEST_F(GptDecoderTest, earlier_tokens_matter_to_later_logits) {
  const std::vector<float> before = recomputed(12);
  text_[0] = (text_[0] + 1) % 70;
  const std::vector<float> after = recomputed(12);
  const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(),
                                    [](float x, float y) { return std::abs(x - y) < 1e-3F; });
  EXPECT_NE(a, before.end());
}

TEST_F(GptDecoderTest, a_rewound_cache_continues_as_if_nothing_had_followed) {
  decoder_.start(std::span(text_).first(5));
  decoder_.append(text_[5]);
  const std::vector<float> once = logits();
  for (std::int32_t token = 0; token < 9; ++token) decoder_.append(token);
  decoder_.rewind(5);
  decoder_.append(text_[5]);
  EXPECT_EQ(logits(), once);
}

// Two chunks of 130 rows of logits for 260 rows, one of 256 for 256.
TEST(GptScorer, has_room_for_fewer_rows_with_larger_chunks_of_logits) {
  for (std::int64_t rows = 257; rows < 1100; ++rows)
    for (std::int64_t fewer = 256; fewer < rows; fewer += 256)
      EXPECT_GE(GptScorer::bytes(kDecoderConfig, {1, rows}), GptScorer::bytes(kDecoderConfig, {1, fewer}))
          << rows << " " << fewer;
}

}  // namespace
}  // namespace tenax::model
