// A round: the asking end notes t1 and sends; the answering end notes t2 when it has received and t3 before
// it replies with both; the asking end notes t4. The peer's clock minus mine is ((t2 − t1) + (t3 − t4)) / 2,
// wrong by at most half of the round trip (t4 − t1) − (t3 − t2). After the last round the asking end tells
// the result.
#include "comm/clock_alignment.hpp"

#include <array>
#include <cassert>
#include <chrono>
#include <cmath>

#include "comm/link.hpp"

namespace tenax::comm {
namespace {

using Stamps = std::array<double, 2>;

/// One end of the exchange.
class Exchange {
 public:
  Exchange(Link& link, const AlignmentOptions& options, const ClockSource& clock)
      : link_(link),
        options_(options),
        clock_(clock),
        deadline_(kernels::Deadline::after_s(options.deadline_s)) {}

  ClockOffset ask() {
    ClockOffset best;
    for (int round = 0; round < options_.rounds; ++round) {
      const ClockOffset measured = ask_once();
      if (measured.error_s < best.error_s) best = measured;
    }
    Stamps result{best.offset_s, best.error_s};
    link_.send(stream_, as_tensor(result), options_.tag)->wait(deadline_);
    return best;
  }

  ClockOffset answer() {
    for (int round = 0; round < options_.rounds; ++round) answer_once();
    Stamps result{};
    link_.receive(stream_, as_tensor(result), options_.tag)->wait(deadline_);
    return {.offset_s = -result[0], .error_s = result[1], .measured_s = clock_()};
  }

 private:
  ClockOffset ask_once() {
    Stamps question{}, reply{};
    const TransferPtr receiving = link_.receive(stream_, as_tensor(reply), options_.tag);
    const double asked_s = clock_();
    const TransferPtr sending = link_.send(stream_, as_tensor(question), options_.tag);
    receiving->wait(deadline_);
    const double told_s = clock_();
    sending->wait(deadline_);
    const auto [received_s, replied_s] = reply;
    return {.offset_s = ((received_s - asked_s) + (replied_s - told_s)) / 2,
            .error_s = std::max(0.0, ((told_s - asked_s) - (replied_s - received_s)) / 2),
            .measured_s = told_s};
  }

  void answer_once() {
    Stamps question{};
    link_.receive(stream_, as_tensor(question), options_.tag)->wait(deadline_);
    Stamps reply{clock_(), 0};
    reply[1] = clock_();
    link_.send(stream_, as_tensor(reply), options_.tag)->wait(deadline_);
  }

  Link& link_;
  const AlignmentOptions& options_;
  const ClockSource& clock_;
  kernels::Deadline deadline_;
  HostStream stream_;
};

}  // namespace

ClockOffset measure_clock_offset(Link& link, AlignmentRole role, const AlignmentOptions& options,
                                 const ClockSource& clock) {
  assert(options.rounds >= 1);
  Exchange exchange(link, options, clock);
  return role == AlignmentRole::asks ? exchange.ask() : exchange.answer();
}

void ClockAlignment::add(const ClockOffset& measured) {
  if (measured.error_s <= error_s(measured.measured_s)) offset_ = measured;
}

double ClockAlignment::error_s(double now_s) const {
  return offset_.error_s + kDrift * std::abs(now_s - offset_.measured_s);
}

}  // namespace tenax::comm
