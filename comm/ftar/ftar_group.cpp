#include "comm/ftar/ftar_group.hpp"

#include <cassert>

#include "comm/failure.hpp"
#include "comm/ftar/ftar_worker.hpp"
#include "comm/ftar/gather_plan.hpp"
#include "comm/ftar/ring_plan.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

class FtarTransfer final : public Transfer {
 public:
  FtarTransfer(std::shared_ptr<FtarControl> control, std::shared_ptr<Outcome> outcome, BucketName name)
      : control_(std::move(control)), outcome_(std::move(outcome)), name_(name) {}
  ~FtarTransfer() override { give_up(); }
  FtarTransfer(const FtarTransfer&) = delete;
  FtarTransfer& operator=(const FtarTransfer&) = delete;

  bool done() override {
    if (!outcome_->is_over()) return false;
    outcome_->check();
    return true;
  }
  void wait(Deadline deadline) override {
    const Stopwatch stopwatch;
    if (!control_->wait(*outcome_, deadline))
      throw Error(Scope::link, timeout_sentence("exchange of bucket " + std::to_string(name_.bucket) +
                                                    " in step " + std::to_string(name_.step),
                                                "this rank", stopwatch.elapsed_s(), "other replicas"));
    outcome_->check();
  }
  void order_before(kernels::Stream&, Deadline deadline) override { wait(deadline); }
  void cancel(Deadline) override { give_up(); }

 private:
  void give_up() {
    if (!outcome_->is_over()) control_->abort();
  }

  const std::shared_ptr<FtarControl> control_;
  const std::shared_ptr<Outcome> outcome_;
  const BucketName name_;
};

}  // namespace

FtarGroup::FtarGroup(FtarRing ring, Transport& transport, kernels::Device& device, FtarOptions options)
    : size_(ring.size()),
      shape_{.ranks = ring.size(),
             .index = ring.index,
             .chunk_bytes = options.chunk_bytes,
             .chunks_in_flight = options.chunks_in_flight},
      arithmetic_(std::make_unique<ChunkArithmetic>(device)),
      control_(std::make_shared<FtarControl>()) {
  if (size_ > 1)
    worker_ = std::make_unique<FtarWorker>(std::move(ring), transport, std::move(options),
                                           std::make_unique<ChunkArithmetic>(device), control_);
}

FtarGroup::~FtarGroup() = default;

TransferPtr FtarGroup::start(const FtarBucket& bucket) {
  assert(bucket.in.size() == bucket.out.size() && bucket.in.dtype == bucket.out.dtype);
  assert(bucket.in.dtype == kernels::DType::f32 || bucket.in.dtype == kernels::DType::f64);
  if (bucket.in.size() == 0 || size_ == 1) {
    if (bucket.in) arithmetic_->copy(bucket.in.data, ChunkForm::as_is, bucket.out);
    return std::make_unique<DoneTransfer>();
  }
  return start(bucket, std::make_unique<RingPlan>(bucket.in.size(), bucket.in.dtype, shape_));
}

TransferPtr FtarGroup::start_gather(const BucketName& name, const kernels::Tensor& parts) {
  assert(parts.dtype == kernels::DType::f64 && parts.size() % size_ == 0);
  if (parts.size() == 0 || size_ == 1) return std::make_unique<DoneTransfer>();
  return start({.name = name, .in = parts, .out = parts},
               std::make_unique<GatherPlan>(parts.size(), parts.dtype, shape_));
}

TransferPtr FtarGroup::start(const FtarBucket& bucket, std::unique_ptr<const ExchangePlan> plan) {
  auto outcome = std::make_shared<Outcome>();
  control_->add(std::make_unique<BucketExchange>(bucket.name, BucketExchange::Tensors{bucket.in, bucket.out},
                                                 std::move(plan), outcome));
  return std::make_unique<FtarTransfer>(control_, std::move(outcome), bucket.name);
}

void FtarGroup::abort() {
  if (worker_) control_->abort();
}

}  // namespace tenax::comm
