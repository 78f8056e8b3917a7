#include "comm/ftar/bucket_exchange.hpp"

#include <cassert>

namespace tenax::comm {

using kernels::Tensor;

BucketExchange::BucketExchange(BucketName name, Tensors tensors, std::unique_ptr<const ExchangePlan> plan,
                               std::shared_ptr<Outcome> outcome)
    : name_(name),
      tensors_(tensors),
      plan_(std::move(plan)),
      outcome_(std::move(outcome)),
      columns_(static_cast<std::size_t>(plan_->columns())),
      open_sends_(plan_->columns()),
      open_receives_(plan_->columns()) {
  for (int column = 0; column < plan_->columns(); ++column) {
    pass_empty_sends(column);
    pass_empty_receives(column);
  }
}

/// The column that is furthest behind comes first: so chunks leave in the order of turns.
std::optional<ChunkName> BucketExchange::next_to_send() const {
  std::optional<ChunkName> next;
  if (!is_granted_) return next;
  for (int column = 0; column < plan_->columns(); ++column) {
    const auto [sent, received] = at(column);
    const bool can_go = sent < plan_->turns() && received >= plan_->received_before(sent);
    if (can_go && (!next || sent < next->turn)) next = ChunkName{sent, column};
  }
  return next;
}

void BucketExchange::count_sent(const ChunkName& chunk) {
  assert(at(chunk.column).sent == chunk.turn);
  ++at(chunk.column).sent;
  pass_empty_sends(chunk.column);
}

std::optional<ChunkName> BucketExchange::next_to_receive(int column) const {
  if (at(column).received == plan_->turns()) return std::nullopt;
  return ChunkName{at(column).received, column};
}

void BucketExchange::count_received(const ChunkName& chunk) {
  assert(at(chunk.column).received == chunk.turn);
  ++at(chunk.column).received;
  pass_empty_receives(chunk.column);
}

bool BucketExchange::send_again(int column, std::int64_t received) {
  if (column < 0 || column >= plan_->columns() || received < 0 || received > at(column).sent) return false;
  if (received == at(column).sent) return true;
  if (at(column).sent == plan_->turns()) ++open_sends_;
  at(column).sent = received;
  pass_empty_sends(column);
  return true;
}

void BucketExchange::pass_empty_sends(int column) {
  std::int64_t& sent = at(column).sent;
  while (sent < plan_->turns() && plan_->sent(sent, column).elements == 0) ++sent;
  if (sent == plan_->turns()) --open_sends_;
}

void BucketExchange::pass_empty_receives(int column) {
  std::int64_t& received = at(column).received;
  while (received < plan_->turns() && plan_->received(received, column).elements == 0) ++received;
  if (received == plan_->turns()) --open_receives_;
}

Tensor BucketExchange::source(const ChunkName& chunk) const {
  return part(plan_->sends_own(chunk.turn) ? tensors_.in : tensors_.out,
              plan_->sent(chunk.turn, chunk.column));
}

Tensor BucketExchange::own(const ChunkName& chunk) const {
  return part(tensors_.in, plan_->received(chunk.turn, chunk.column));
}

Tensor BucketExchange::result(const ChunkName& chunk) const {
  return part(tensors_.out, plan_->received(chunk.turn, chunk.column));
}

}  // namespace tenax::comm
