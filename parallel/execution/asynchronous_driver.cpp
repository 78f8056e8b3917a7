#include "parallel/execution/asynchronous_driver.hpp"

#include <algorithm>

namespace tenax::parallel {

void AsynchronousDriver::await_room() {
  if (!neighbours().upstream && !neighbours().downstream) return;
  const std::size_t ahead = bends() ? 1 : static_cast<std::size_t>(options().launch_ahead);
  while (!wait_until([&] { return launched() - finished() <= ahead; }, options().deadline_s))
    demand_of_device();
}

// How many ops have run, in the order they were launched in.
std::size_t AsynchronousDriver::finished() {
  while (finished_ < launched() && launched(finished_).end->done()) ++finished_;
  return finished_;
}

// There is no hurry before the device has nothing to do.
void AsynchronousDriver::await_idle(const Condition& planned_is_ready) {
  wait_until([&] { return planned_is_ready() || is_idle(); }, options().deadline_s);
}

void AsynchronousDriver::look() {
  traffic().watch();
  finished();
}

void AsynchronousDriver::demand(const Op& entry) {
  if (is_idle())
    RowDriver::demand(entry);
  else
    demand_of_device();
}

// The same of the op that the device is at.
void AsynchronousDriver::demand_of_device() {
  const Op& entry = launched(finished_);
  traffic().demand(entry.op.microbatch);
  entry.end->wait(kernels::Deadline::after_s(options().deadline_s));
}

// Messages may be outstanding that ops were launched for; whatever is computed from here on may rely on them.
void AsynchronousDriver::settle() {
  wait_until([&] { return traffic().watch(); }, options().deadline_s);
  RowDriver::settle();
  is_warm_ = true;
}

// The device's clock is known to a few microseconds. A tensor is ready when its op has run, not when it was launched.
TransferRecord AsynchronousDriver::as_told(const TransferRecord& record, const Op& op) const {
  TransferRecord told = record;
  told.end_s = std::max(record.end_s, record.begin_s);
  if (is_send(record.kind)) told.begin_s = std::min(op.end->time_s(), told.end_s);
  return told;
}

}  // namespace tenax::parallel
