#include "comm/ftar/ring_neighbour.hpp"

#include <algorithm>
#include <utility>

namespace tenax::comm {

using kernels::Error;
using Cause = FtarFailure::Cause;

namespace {

constexpr double kAnother_s =
    2;  // a peer that gives an attempt up begins another at once (ConnectionAttempt)
constexpr double kLongest_s = 3600;  // replace_s is less

}  // namespace

RingNeighbour::RingNeighbour(Side side, int index, std::string name, int streams, Maker maker)
    : side_(side),
      index_(index),
      name_(std::move(name)),
      maker_(std::move(maker)),
      streams_(static_cast<std::size_t>(streams)) {}

void RingNeighbour::begin() { stream(0).attempt = maker_.first(0); }

std::unique_ptr<FtarStream> RingNeighbour::Stream::retire() {
  if (!is_unproven()) heard_s = messages->heard_s();
  receiver.reset();
  report.reset();
  return std::move(messages);
}

bool RingNeighbour::has_connection(int number) const {
  const Stream& each = streams_[static_cast<std::size_t>(number)];
  return !each.has_ended && each.attempt.valid() &&
         each.attempt.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// The next stream's turn follows the first time. A neighbour that is well takes the end of the silent connection for
/// its own end, until it has taken this one.
void RingNeighbour::take_connection(int number) {
  Stream& taken = stream(number);
  auto messages = std::make_unique<FtarStream>(taken.attempt.get());
  taken.retired = taken.retire();
  taken.messages = std::move(messages);
  if (side_ == Side::before && !taken.heard_s) taken.heard_s = kernels::steady_now_s();
  const int next = number + 1;
  if (next < streams() && !stream(next).messages && !stream(next).attempt.valid())
    stream(next).attempt = maker_.first(next);
}

/// In its handler.
void RingNeighbour::take_error(int number, const Error& error) {
  if (error.scope() != kernels::Scope::link) throw;
  Stream& broken = stream(number);
  if (!broken.messages) return lose(error.what());
  const bool has_lost_its_way = broken.messages->connection().has_lost_its_way();
  const bool was_unused = side_ == Side::before && broken.is_unproven();
  const bool is_being_replaced =
      broken.attempt.valid();  // the neighbour has taken the other one, and ends this
  if (!has_lost_its_way && !was_unused && !is_being_replaced) return lose(error.what());
  broken.retire().reset();
  if (!broken.attempt.valid())
    broken.attempt = maker_.another(number, has_lost_its_way ? kLongest_s : kAnother_s);
}

void RingNeighbour::lose(const std::string& why) {
  loss_ = {.cause = Cause::peer, .peer = index_, .sentence = "exchange with " + name_ + ": " + why};
}

void RingNeighbour::end(int number, int at_fault, const std::string& name_at_fault) {
  stream(number).has_ended = true;
  if (!std::all_of(streams_.begin(), streams_.end(), [](const Stream& other) { return other.has_ended; }))
    return;
  loss_ = {.cause = Cause::peer,
           .peer = at_fault,
           .sentence = name_ + " has ended the exchange" +
                       (name_at_fault.empty() ? "" : " because of " + name_at_fault)};
}

void RingNeighbour::end_with(const FtarMessage& message) {
  for (Stream& each : streams_)
    if (each.messages) each.messages->end_with(message);
}

bool RingNeighbour::is_whole() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const Stream& each) { return each.messages && !each.report; });
}

void RingNeighbour::post(const FtarMessage& message) {
  if (streams_.front().messages) streams_.front().messages->post(message);
}

std::size_t RingNeighbour::queued() const {
  std::size_t waiting = 0;
  for (const Stream& each : streams_) waiting += each.messages ? each.messages->queued() : 0;
  return waiting;
}

void RingNeighbour::tell_alive() {
  for (Stream& each : streams_)
    if (!loss_ && stands(each)) each.messages->post_alive();
}

bool RingNeighbour::is_silent_since(double time_s) const {
  std::optional<double> last_s;
  for (const Stream& each : streams_)
    last_s = std::max(last_s, each.is_unproven() ? each.heard_s : each.messages->heard_s());
  return last_s && *last_s < time_s;
}

void RingNeighbour::forgive(double pause_s) {
  for (Stream& each : streams_) {
    if (each.messages) each.messages->forgive(pause_s);
    if (each.heard_s) *each.heard_s += pause_s;
  }
}

void RingNeighbour::seek_other_ways(double time_s,
                                    const std::function<bool(const Connection&)>& has_other_way) {
  for (int i = 0; i < streams() && !loss_; ++i) {
    Stream& each = stream(i);
    if (!each.is_unproven()) each.retired.reset();
    const bool was_heard = each.heard_s || !each.is_unproven();
    if (stands(each) && was_heard && each.messages->heard_s() < time_s && !each.attempt.valid() &&
        has_other_way(each.messages->connection()))
      each.attempt = maker_.another(i, kLongest_s);
  }
}

bool RingNeighbour::prepare_to_sleep(std::vector<pollfd>& polled) {
  return loss_ || std::all_of(streams_.begin(), streams_.end(), [&](const Stream& each) {
           return !stands(each) || each.messages->prepare_to_sleep(polled);
         });
}

double RingNeighbour::next_departure_s() const {
  double next_s = 0;
  for (const Stream& each : streams_) {
    const auto until_s = each.messages ? each.messages->waits_until_s() : std::nullopt;
    if (until_s && (next_s == 0 || *until_s < next_s)) next_s = *until_s;
  }
  return next_s;
}

}  // namespace tenax::comm
