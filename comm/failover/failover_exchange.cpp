// How a pair fails over. The end that notices tells the other over the control link which messages of the iteration it has,
// and cancels its direct transfers (failing_over). The other end hears of it when it polls, and does the same. With both
// notices exchanged (failed_over) both make the delegated link, receive there what they lack, and resend what the peer
// lacks from their retransmit buffers.
//
// An end may notice too late: its last send fails although the message had arrived, and the peer has finished the iteration.
// Then the acknowledgement is on its way and nothing is missing; the peer drops the notice. The next set_path settles the
// path for both. If another iteration comes before, this end fails over again at once. A peer that has failed over already
// (it had joined just before it finished the iteration, which the first end had left) answers with a notice.
//
// A notice: the iteration's number in two words, then one Receipt per tag.
#include "comm/failover/failover_exchange.hpp"

#include <algorithm>
#include <cassert>
#include <span>

namespace tenax::comm {
namespace {

constexpr std::size_t kNoticeHead = 2;

}  // namespace

FailoverExchange::FailoverExchange(Link& control, Tag tags)
    : link_(control),
      tags_(tags),
      acknowledgement_words_(static_cast<std::size_t>(tags)),
      acknowledgements_(static_cast<std::size_t>(tags)),
      notice_words_(static_cast<std::size_t>(tags) + kNoticeHead) {
  post_notice();
}

void FailoverExchange::post_notice() { notice_ = link_.receive(stream_, as_tensor(notice_words_), tags_); }

void FailoverExchange::expect_acknowledgement(Tag tag) {
  const auto t = static_cast<std::size_t>(tag);
  acknowledgements_[t] =
      link_.receive(stream_, as_tensor(std::span(acknowledgement_words_).subspan(t, 1)), tag);
}

bool FailoverExchange::acknowledged(Tag tag) {
  TransferPtr& transfer = acknowledgements_[static_cast<std::size_t>(tag)];
  if (transfer && transfer->done()) transfer.reset();
  return !transfer;
}

void FailoverExchange::acknowledge(Tag tag) { send({1}, tag); }

void FailoverExchange::begin(const std::string& reason, const FailoverMessages& received) {
  assert(state_ == State::direct);
  state_ = State::failing_over;
  failure_ = reason;
  send_notice(received);
}

void FailoverExchange::send_notice(const FailoverMessages& received) {
  std::vector<std::int32_t> words(kNoticeHead + static_cast<std::size_t>(tags_),
                                  static_cast<std::int32_t>(Receipt::not_expected));
  words[0] = static_cast<std::int32_t>(iteration_ & 0x7fffffff);
  words[1] = static_cast<std::int32_t>(iteration_ >> 31);
  for (const auto& message : received)
    words[kNoticeHead + static_cast<std::size_t>(message->tag)] =
        static_cast<std::int32_t>(message->complete ? Receipt::received : Receipt::missing);
  send(std::move(words), tags_);
}

std::optional<std::vector<Receipt>> FailoverExchange::poll(const FailoverMessages& received) {
  auto receipts = take_notice();
  if (!receipts || state_ != State::failed_over) return receipts;
  send_notice(received);
  return std::nullopt;
}

// Older notices are dropped: their iteration ended well. Later ones wait for theirs.
std::optional<std::vector<Receipt>> FailoverExchange::take_notice() {
  while (notice_->done()) {
    notices_.push_back(notice_words_);
    post_notice();
  }
  for (; !notices_.empty(); notices_.pop_front()) {
    const std::vector<std::int32_t>& words = notices_.front();
    const auto number = static_cast<std::uint64_t>(words[0]) | static_cast<std::uint64_t>(words[1]) << 31;
    if (number > iteration_) break;
    if (number < iteration_) continue;
    std::vector<Receipt> receipts;
    std::transform(words.begin() + kNoticeHead, words.end(), std::back_inserter(receipts),
                   [](std::int32_t word) { return static_cast<Receipt>(word); });
    notices_.pop_front();
    return receipts;
  }
  return std::nullopt;
}

void FailoverExchange::end_iteration() {
  if (state_ == State::failing_over) state_ = State::direct;
  ++iteration_;
}

void FailoverExchange::reset() {
  state_ = State::direct;
  failure_.clear();
}

void FailoverExchange::send(std::vector<std::int32_t> words, Tag tag) {
  flush();
  Outgoing& out = outgoing_.emplace_back();
  out.words = std::move(words);
  out.transfer = link_.send(stream_, as_tensor(out.words), tag);
}

bool FailoverExchange::flush() {
  std::erase_if(outgoing_, [](Outgoing& out) { return out.transfer->done(); });
  return outgoing_.empty();
}

}  // namespace tenax::comm
