// Begin and end are marks in the caller's stream, so that nobody has to wait for an asynchronous device. What ran beside that
// stream ended before the stream was told to wait for it: where the transfer knows when (NCCL), it is kept and asked.
#include "comm/timed_communicator.hpp"

#include <optional>

namespace tenax::comm {

using kernels::Deadline;
using kernels::Event;
using kernels::Stream;
using kernels::Tensor;

namespace {

constexpr std::size_t kMostTimings = 1 << 16;

}  // namespace

const char* name_of(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return "all_reduce";
  return kind == CollectiveKind::reduce_scatter ? "reduce_scatter" : "all_gather";
}

struct TimedCommunicator::Timing {
  CollectiveRecord record;
  std::unique_ptr<Event> begin, end;
  bool is_marked = false;  // `end` is recorded
  std::optional<double> end_s;
  TransferPtr transfer;  // that the device waits for

  void mark(Stream& stream) {
    stream.record(*end);
    is_marked = true;
  }
  /// Found out that `ended` has.
  void note(const Transfer& ended) {
    if (!end_s) end_s = ended.timing().arrived_s.value_or(kernels::steady_now_s());
  }
  /// True once all times are known.
  bool settle() {
    if (transfer) {
      if (!transfer->done()) return false;
      end_s = transfer->timing().arrived_s;
      transfer.reset();
    }
    if (!end_s && is_marked && end->done()) end_s = end->time_s();
    return end_s && begin->done();
  }
};

class TimedCommunicator::TimedTransfer final : public Transfer {
 public:
  TimedTransfer(TransferPtr inner, TimingPtr timing) : inner_(std::move(inner)), timing_(std::move(timing)) {}
  ~TimedTransfer() override {
    if (timing_->is_marked && !timing_->end_s && inner_->orders_without_blocking())
      timing_->transfer = std::move(inner_);
  }

  bool done() override {
    const bool is_done = inner_->done();
    if (is_done) timing_->note(*inner_);
    return is_done;
  }
  void wait(Deadline deadline) override {
    inner_->wait(deadline);
    timing_->note(*inner_);
  }
  void order_before(Stream& stream, Deadline deadline) override {
    inner_->order_before(stream, deadline);
    if (!timing_->end_s && !timing_->is_marked) timing_->mark(stream);
  }
  bool orders_without_blocking() const override { return inner_->orders_without_blocking(); }
  void cancel(Deadline deadline) override { inner_->cancel(deadline); }
  TransferTiming timing() const override { return inner_->timing(); }

 private:
  TransferPtr inner_;
  TimingPtr timing_;
};

TimedCommunicator::TimedCommunicator(std::unique_ptr<Communicator> inner, kernels::Device& device)
    : inner_(std::move(inner)), device_(device) {}

TimedCommunicator::~TimedCommunicator() = default;

void TimedCommunicator::all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) {
  if (tensor.size() == 0) return inner_->all_reduce(stream, tensor, op);
  const TimingPtr timing = start(CollectiveKind::all_reduce, stream, tensor);
  inner_->all_reduce(stream, tensor, op);
  timing->mark(stream);
}

TransferPtr TimedCommunicator::start_reduce_scatter(Stream& stream, const Tensor& tensor) {
  if (tensor.size() == 0) return inner_->start_reduce_scatter(stream, tensor);
  TimingPtr timing = start(CollectiveKind::reduce_scatter, stream, tensor);
  return std::make_unique<TimedTransfer>(inner_->start_reduce_scatter(stream, tensor), std::move(timing));
}

TransferPtr TimedCommunicator::start_all_gather(Stream& stream, const Tensor& tensor) {
  if (tensor.size() == 0) return inner_->start_all_gather(stream, tensor);
  TimingPtr timing = start(CollectiveKind::all_gather, stream, tensor);
  return std::make_unique<TimedTransfer>(inner_->start_all_gather(stream, tensor), std::move(timing));
}

// What is timed may refer to what the collectives went over before.
std::unique_ptr<RingChange> TimedCommunicator::prepare_ring(const std::vector<int>& order) {
  for (const TimingPtr& timing : timings_) timing->settle();
  return inner_->prepare_ring(order);
}

TimedCommunicator::TimingPtr TimedCommunicator::start(CollectiveKind kind, Stream& stream,
                                                      const Tensor& tensor) {
  auto timing = std::make_shared<Timing>();
  timing->record = {kind, name(), size(), tensor.bytes()};
  timing->begin = take_event();
  timing->end = take_event();
  stream.record(*timing->begin);
  if (timings_.size() == kMostTimings) timings_.pop_front();
  timings_.push_back(timing);
  return timing;
}

std::unique_ptr<Event> TimedCommunicator::take_event() {
  if (unused_.empty()) return device_.create_event();
  std::unique_ptr<Event> event = std::move(unused_.back());
  unused_.pop_back();
  return event;
}

void TimedCommunicator::report(CollectiveObserver* observer) {
  std::deque<TimingPtr> under_way;
  for (TimingPtr& timing : timings_) {
    if (!timing->settle()) {
      const bool may_end = timing->is_marked || timing.use_count() > 1;  // else an error ended its transfer
      if (may_end) under_way.push_back(std::move(timing));
      continue;
    }
    timing->record.begin_s = timing->begin->time_s();
    timing->record.end_s = *timing->end_s;
    if (observer) observer->on_collective(timing->record);
    if (timing.use_count() > 1) continue;  // its transfer still looks at it
    unused_.push_back(std::move(timing->begin));
    unused_.push_back(std::move(timing->end));
  }
  timings_.swap(under_way);
}

}  // namespace tenax::comm
