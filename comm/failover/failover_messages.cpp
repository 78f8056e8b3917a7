#include "comm/failover/failover_messages.hpp"

#include <algorithm>

namespace tenax::comm {
namespace {

kernels::Tensor as_tensor(std::vector<std::int32_t>& words, std::size_t begin, std::size_t count) {
  return {words.data() + begin, kernels::DType::i32, {static_cast<std::int64_t>(count)}};
}

}  // namespace

ControlMessages::ControlMessages(Link& link, Tag tags)
    : link_(link),
      tags_(tags),
      acknowledgement_words_(static_cast<std::size_t>(tags)),
      acknowledgements_(static_cast<std::size_t>(tags)),
      notice_words_(static_cast<std::size_t>(tags) + 2) {
  post_notice();
}

void ControlMessages::post_notice() {
  notice_ = link_.receive(stream_, as_tensor(notice_words_, 0, notice_words_.size()), tags_);
}

void ControlMessages::expect_acknowledgement(Tag tag) {
  const auto t = static_cast<std::size_t>(tag);
  acknowledgements_[t] = link_.receive(stream_, as_tensor(acknowledgement_words_, t, 1), tag);
}

bool ControlMessages::acknowledged(Tag tag) {
  TransferPtr& transfer = acknowledgements_[static_cast<std::size_t>(tag)];
  if (transfer && transfer->done()) transfer.reset();
  return !transfer;
}

void ControlMessages::acknowledge(Tag tag) { send({1}, tag); }

// A notice: the iteration's number in two words, then one word per tag.
void ControlMessages::notify(std::uint64_t iteration, const std::vector<std::int32_t>& here) {
  std::vector<std::int32_t> words = {static_cast<std::int32_t>(iteration & 0x7fffffff),
                                     static_cast<std::int32_t>(iteration >> 31)};
  words.insert(words.end(), here.begin(), here.end());
  send(std::move(words), tags_);
}

std::optional<std::vector<std::int32_t>> ControlMessages::notice(std::uint64_t iteration) {
  while (notice_->done()) {
    notices_.push_back(notice_words_);
    post_notice();
  }
  for (; !notices_.empty(); notices_.pop_front()) {
    const std::vector<std::int32_t>& words = notices_.front();
    const auto number = static_cast<std::uint64_t>(words[0]) | static_cast<std::uint64_t>(words[1]) << 31;
    if (number > iteration) break;
    if (number < iteration) continue;
    const std::vector<std::int32_t> here(words.begin() + 2, words.end());
    notices_.pop_front();
    return here;
  }
  return std::nullopt;
}

void ControlMessages::send(std::vector<std::int32_t> words, Tag tag) {
  flush();
  Outgoing& out = outgoing_.emplace_back();
  out.words = std::move(words);
  out.transfer = link_.send(stream_, as_tensor(out.words, 0, out.words.size()), tag);
}

bool ControlMessages::flush() {
  std::erase_if(outgoing_, [](Outgoing& out) { return out.transfer->done(); });
  return outgoing_.empty();
}

}  // namespace tenax::comm
