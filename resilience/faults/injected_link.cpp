// A message travels at once, after a stamp of the same tag: when it counts as arrived, on the system's clock,
// and for how long it was held at its send. The receiver waits for the former, never longer than the latter.
// So hosts' clocks must agree well (NTP's milliseconds): behind the sender's, a clock makes a delay too long,
// at most by what is left of it when the message is noticed; ahead, too short. Ranks of one host share a
// clock.
#include "resilience/faults/injected_link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

using comm::TransferPtr;
using kernels::Deadline;
using kernels::Error;
using kernels::Scope;
using Clock = LinkFaults::Clock;

struct Stamp {
  std::array<double, 2> values{};  ///< arrival in seconds of the system's clock; seconds it was held
  kernels::Tensor tensor() { return {values.data(), kernels::DType::f64, {2}}; }
};

double system_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Stamp stamp_of(Clock::time_point release) {
  const double held_s = std::chrono::duration<double>(release - Clock::now()).count();
  return {{system_now_s() + held_s, held_s}};
}

/// What the stamp says, on this rank's steady clock.
Clock::time_point release_of(const Stamp& stamp) {
  const double held_s = std::max(stamp.values[1], 0.0);
  const double left_s = std::clamp(stamp.values[0] - system_now_s(), 0.0, held_s);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left_s));
}

/// One message, at either end.
class InjectedTransfer final : public comm::Transfer {
 public:
  InjectedTransfer(InjectedLink& link, const char* what, std::size_t bytes, comm::Tag tag)
      : link_(link), what_(what), bytes_(bytes), tag_(tag) {}
  /// Given up by its owner: the other end may go on with it.
  ~InjectedTransfer() override {
    if (payload_ && !arrived_) link_.mark_broken();
  }

  void fail() {
    failure_ =
        describe() + " on " + link_.describe() + ": the direct path is down (injected: see [[inject]])";
  }
  void start_send(comm::Link& inner, kernels::Stream& stream, const kernels::Tensor& tensor,
                  Clock::time_point release) {
    release_ = release;
    stamp_ = stamp_of(release);
    stamp_transfer_ = inner.send(stream, stamp_.tensor(), tag_);
    payload_ = inner.send(stream, tensor, tag_);
  }
  void start_receive(comm::Link& inner, kernels::Stream& stream, const kernels::Tensor& tensor) {
    is_receive_ = true;
    stamp_transfer_ = inner.receive(stream, stamp_.tensor(), tag_);
    payload_ = inner.receive(stream, tensor, tag_);
  }

  bool done() override {
    complete_ = complete_ || (has_travelled() && Clock::now() >= release_);
    return complete_;
  }
  void wait(Deadline deadline) override;
  void order_before(kernels::Stream& stream, Deadline deadline) override {
    wait(deadline);
    payload_->order_before(stream, deadline);
  }
  void cancel(Deadline deadline) override {
    for (const TransferPtr* part : {&stamp_transfer_, &payload_})
      if (*part) (*part)->cancel(deadline);
  }
  comm::TransferTiming timing() const override {
    comm::TransferTiming timing = payload_->timing();
    if (timing.arrived_s)
      timing.arrived_s =
          std::max(*timing.arrived_s, std::chrono::duration<double>(release_.time_since_epoch()).count());
    return timing;
  }

 private:
  /// All but the delay. Throws if the link is down.
  bool has_travelled() {
    if (failure_.empty() && link_.is_down()) {
      fail();
      link_.mark_broken();
    }
    if (!failure_.empty()) throw Error(Scope::link, failure_);
    if (arrived_) return true;
    const bool stamped = stamp_transfer_->done();  // both are moved on
    const bool here = payload_->done();
    if (!stamped || !here) return false;
    if (is_receive_) {
      release_ = release_of(stamp_);
      link_.count(LinkFaults::Passed::received);
    }
    complete_ = Clock::now() >= release_;  // here, though it may have been the last one that passed
    return arrived_ = true;
  }
  std::string describe() const { return comm::describe_message(what_, bytes_, tag_); }

  InjectedLink& link_;
  const char* what_;
  const std::size_t bytes_;
  const comm::Tag tag_;
  bool is_receive_ = false, arrived_ = false, complete_ = false;
  Clock::time_point release_{};
  std::string failure_;
  Stamp stamp_;  // before the transfers, which use it
  TransferPtr stamp_transfer_, payload_;
  comm::Stopwatch stopwatch_;
};

void InjectedTransfer::wait(Deadline deadline) {
  constexpr auto kLook = std::chrono::milliseconds(20);  // a link that goes down is noticed so soon
  comm::poll_until([this] { return complete_ || has_travelled(); }, deadline);
  while (!done()) {
    if (deadline.expired())
      throw Error(Scope::link, comm::timeout_sentence(describe(), link_.describe(), stopwatch_.elapsed_s(),
                                                      "the other end"));
    std::this_thread::sleep_until(std::min({release_, Clock::now() + kLook, deadline.when()}));
  }
}

}  // namespace

comm::TransferPtr InjectedLink::send(kernels::Stream& stream, const kernels::Tensor& tensor, comm::Tag tag) {
  auto transfer = std::make_unique<InjectedTransfer>(*this, "send", tensor.bytes(), tag);
  if (is_broken_ || is_down()) {
    transfer->fail();
    return transfer;
  }
  const auto start = std::max(Clock::now(), free_at_);
  free_at_ = start + faults_.delay(ends_.rank, ends_.peer, tensor.bytes(), start);
  transfer->start_send(inner_, stream, tensor, free_at_);
  count(LinkFaults::Passed::sent);
  return transfer;
}

comm::TransferPtr InjectedLink::receive(kernels::Stream& stream, const kernels::Tensor& tensor,
                                        comm::Tag tag) {
  auto transfer = std::make_unique<InjectedTransfer>(*this, "receive", tensor.bytes(), tag);
  if (is_broken_ || is_down())
    transfer->fail();
  else
    transfer->start_receive(inner_, stream, tensor);
  return transfer;
}

void InjectedLink::count(LinkFaults::Passed how) {
  if (ends_.goes_down) faults_.count_direct(ends_.rank, ends_.peer, how);
}

bool InjectedLink::is_down() const {
  return ends_.goes_down && faults_.is_down(ends_.rank, ends_.peer, {.direct = true});
}

}  // namespace tenax::resilience
