#include "comm/failover/earlier_sends.hpp"

#include "kernels/error.hpp"

namespace tenax::comm {

void EarlierSends::add(const FailoverMessages& sent) {
  for (const auto& message : sent) {
    if (message->cancelled)
      cancelled_.push_back(message);
    else if (message->retransmit)
      pool_.give_back(std::move(message->retransmit));
    if (message->inner) delegated_.push_back(std::move(message->inner));
  }
  std::erase_if(delegated_, [](const TransferPtr& transfer) { return transfer->done(); });
  drop_cancelled();
}

// A cancelled send ends or fails sooner or later: nobody receives what may still run of it.
void EarlierSends::drop_cancelled() {
  std::erase_if(cancelled_, [this](const auto& message) {
    try {
      if (!message->cancelled->done()) return false;
    } catch (const kernels::Error&) {
    }
    if (message->retransmit) pool_.give_back(std::move(message->retransmit));
    return true;
  });
}

void EarlierSends::wait(double deadline_s) {
  for (const TransferPtr& transfer : delegated_) transfer->wait(kernels::Deadline::after_s(deadline_s));
  delegated_.clear();
}

void EarlierSends::clear() {
  delegated_.clear();
  cancelled_.clear();
}

}  // namespace tenax::comm
