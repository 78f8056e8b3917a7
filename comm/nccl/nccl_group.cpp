#include "comm/nccl/nccl_group.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "comm/failure.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

/// How often the watcher looks.
constexpr std::chrono::milliseconds kGlance{100};

/// How long a group that is done waits for its other ranks to leave it too: for as long as one may still read this one's
/// memory, but some may have given it up.
constexpr double kLeaving_s = 5;

}  // namespace

int NcclMembers::nccl_rank(int of) const {
  return order.empty() ? of : static_cast<int>(std::find(order.begin(), order.end(), of) - order.begin());
}

std::string NcclMembers::others() const {
  std::string text;
  for (int other = 0; other < size(); ++other)
    if (other != rank) text += (text.empty() ? "" : ", ") + names[static_cast<std::size_t>(other)];
  return text;
}

std::string new_nccl_id(const std::string& where) {
  ncclUniqueId id;
  TENAX_NCCL(where, ncclGetUniqueId(&id));
  return {id.internal, sizeof(id.internal)};
}

NcclGroup::NcclGroup(NcclMembers members, const std::string& id, kernels::Device& device, NcclOptions options,
                     int max_blocks)
    : members_(std::move(members)),
      device_(device),
      options_(options),
      max_blocks_(max_blocks),
      stream_(device.create_stream()) {
  try {
    join(id);
  } catch (...) {
    if (nccl_) abort_.emplace(nccl_);
    throw;
  }
  device_.lend_multiprocessors(max_blocks_);
  watcher_ = start_prompt_thread([this] { watch(); });
}

// The device's calls before have made it this thread's current one, on which NCCL joins.
void NcclGroup::join(const std::string& id) {
  operation_ = "joining NCCL " + members_.purpose;
  ncclUniqueId nccl_id;
  if (id.size() != sizeof(nccl_id.internal))
    throw Error(Scope::link, operation_ + ": " + members_.me() + " got an id of another length");
  std::memcpy(nccl_id.internal, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (max_blocks_ > 0) config.maxCTAs = max_blocks_;
  ncclResult_t result =
      ncclCommInitRankConfig(&nccl_, members_.size(), nccl_id, members_.nccl_rank(members_.rank), &config);
  if (!is_fault(result)) result = settle(result, options_.joining_s);
  if (is_fault(result)) throw_nccl_error(result, operation_.c_str(), members_.me());
}

NcclGroup::~NcclGroup() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  watcher_.join();
  close();
  device_.lend_multiprocessors(-max_blocks_);
}

void NcclGroup::close() noexcept {
  if (!nccl_) return;
  bool in_order = false;
  try {
    if (std::uncaught_exceptions() == 0) {
      operation_ = "leaving NCCL " + members_.purpose;
      const ncclResult_t result = ncclCommFinalize(nccl_);
      in_order =
          !is_fault(result) && settle(result, std::min(kLeaving_s, options_.deadline_s)) == ncclSuccess;
    }
  } catch (const Error&) {  // a rank that does not leave is reported by what waits for it elsewhere
  }
  if (in_order)
    ncclCommDestroy(nccl_);
  else
    abort_.emplace(nccl_);
}

NcclOperationPtr NcclGroup::start(kernels::Stream& after, std::string what,
                                  const std::function<void()>& enqueue) {
  const std::lock_guard lock(mutex_);
  if (failure_) failure_->raise();
  auto operation = std::make_shared<NcclOperation>();
  operation->what = operation_ = std::move(what) + " " + members_.purpose;
  operation->ready = device_.create_event();
  operation->finished = device_.create_event();
  after.record(*operation->ready);
  stream_->wait(*operation->ready);
  try {
    enqueue();
  } catch (const Error& error) {
    fail({Scope::link, error.what()});
    throw;
  }
  stream_->record(*operation->finished);
  under_way_.push_back(operation);
  changed_.notify_all();
  return operation;
}

void NcclGroup::call(const Calls& calls) {
  const auto stream = static_cast<cudaStream_t>(stream_->native_handle());
  TENAX_NCCL(members_.me(), ncclGroupStart());
  const ncclResult_t inside = calls(nccl_, stream);
  const ncclResult_t end = ncclGroupEnd();  // also after a fault: it ends the group
  const ncclResult_t result = is_fault(inside) ? inside : settle(end, options_.joining_s);
  if (is_fault(result)) throw_nccl_error(result, operation_.c_str(), members_.me());
}

/// What becomes of a call that goes on in the background: its kernels may be enqueued only then, or its ranks connected.
ncclResult_t NcclGroup::settle(ncclResult_t result, double deadline_s) {
  const Stopwatch stopwatch;
  const auto is_settled = [&] {
    if (result == ncclInProgress) TENAX_NCCL(members_.me(), ncclCommGetAsyncError(nccl_, &result));
    return result != ncclInProgress;
  };
  if (!poll_until(is_settled, Deadline::after_s(deadline_s)))
    throw Error(Scope::link,
                timeout_sentence(operation_, members_.me(), stopwatch.elapsed_s(), members_.others()));
  return result;
}

bool NcclGroup::done(NcclOperation& operation) {
  const std::lock_guard lock(mutex_);
  if (operation.done) return true;
  if (failure_) failure_->raise();
  operation.unasked = {};
  return operation.done = operation.finished->done();
}

void NcclGroup::wait(NcclOperation& operation, Deadline deadline) {
  if (poll_until([&] { return done(operation); }, deadline)) return;
  const std::lock_guard lock(mutex_);
  fail({Scope::link, late(operation)});
  failure_->raise();
}

void NcclGroup::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) failure_->raise();
}

void NcclGroup::abort(const NcclOperation& operation, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  fail({Scope::link, operation.what + ": " + reason});
}

void NcclGroup::watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || (!under_way_.empty() && !failure_); });
    changed_.wait_for(lock, kGlance, [this] { return stopping_; });
    if (stopping_ || failure_) continue;
    try {
      look();
    } catch (...) {  // NCCL or the device is broken: what still waits there must be let go
      fail(failure_of(std::current_exception()));
    }
  }
}

void NcclGroup::look() {
  while (!under_way_.empty() && (under_way_.front()->done || under_way_.front()->finished->done())) {
    under_way_.front()->done = true;
    under_way_.pop_front();
  }
  ncclResult_t state = ncclSuccess;
  TENAX_NCCL(members_.me(), ncclCommGetAsyncError(nccl_, &state));
  if (is_fault(state))
    fail({Scope::link, (under_way_.empty() ? operation_ : under_way_.front()->what) + ": " + members_.me() +
                           " heard from NCCL: " + ncclGetErrorString(state) + "; look for errors of " +
                           members_.others()});
  else if (!under_way_.empty() && is_late(*under_way_.front()))
    fail({Scope::link, late(*under_way_.front())});
}

bool NcclGroup::is_late(NcclOperation& operation) const {
  if (!operation.begun) {
    operation.begun = operation.ready->done();
    operation.unasked = {};
  }
  return operation.begun && operation.unasked.elapsed_s() > options_.deadline_s;
}

// Under the mutex. What was finished by now was finished in order.
void NcclGroup::fail(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  try {
    for (const NcclOperationPtr& operation : under_way_)
      operation->done = operation->done || operation->finished->done();
  } catch (const Error&) {  // the device is broken too: nothing is done any more
  }
  abort_.emplace(std::exchange(nccl_, nullptr));
}

std::string NcclGroup::late(const NcclOperation& operation) const {
  return timeout_sentence(operation.what, members_.me(), operation.stopwatch.elapsed_s(), members_.others());
}

}  // namespace tenax::comm
