#include "comm/shared_memory/shared_memory_communicator.hpp"

#include <cassert>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/shared_memory/chunk_engine.hpp"
#include "comm/transfer.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;
using kernels::Stream;
using kernels::Tensor;
using Kind = ChunkEngine::Kind;

/// The engine with what its errors need: names, and whether an earlier error left it in the middle of a
/// collective (its tensors may be gone, so nothing may move any more).
class SharedGroup {
 public:
  SharedGroup(std::string name, std::shared_ptr<SharedSegment> segment, int rank,
              std::vector<std::string> names, std::function<void()> meanwhile)
      : name_(std::move(name)),
        segment_(std::move(segment)),
        rank_(rank),
        names_(std::move(names)),
        meanwhile_(std::move(meanwhile)),
        engine_(ChunkWindow(segment_->data(), size()), rank, size()) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(names_.size()); }
  const std::string& name() const { return name_; }
  void break_off() { broken_ = true; }
  bool is_collected(std::uint64_t end) const { return engine_.collected() >= end; }

  std::uint64_t enqueue(Kind kind, const Tensor& tensor, ReduceOp op) {
    check();
    return engine_.enqueue(kind, tensor, op);
  }

  bool progress(std::uint64_t end) {
    check();
    while (!is_collected(end) && engine_.step()) {
    }
    return is_collected(end);
  }

  /// Spins briefly (a peer that is a microsecond behind), then yields, then sleeps; patience starts anew
  /// with every chunk that moves.
  void wait(std::uint64_t end, Deadline deadline, const std::string& operation, const Stopwatch& stopwatch) {
    while (!is_collected(end)) {
      if (progress_spinning(end)) continue;
      if (poll_until([this] { return step_or_wait(); }, deadline)) continue;
      broken_ = true;
      throw Error(Scope::link, timeout_sentence(operation + " in the " + name_ + " group",
                                                names_[index(rank_)], stopwatch.elapsed_s(), late_ranks()));
    }
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  void check() const {
    if (broken_)
      throw Error(Scope::link, "the " + name_ + " group of " + names_[index(rank_)] +
                                   " was left in the middle of a collective by an earlier error");
  }
  bool step_or_wait() {
    if (engine_.step()) return true;
    if (meanwhile_) meanwhile_();
    return false;
  }
  /// True if anything moved.
  bool progress_spinning(std::uint64_t end) {
    constexpr int kSpins = 200;
    check();
    for (int spin = 0; spin < kSpins; ++spin) {
      if (engine_.step()) return true;
      if (is_collected(end)) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    return false;
  }
  std::string late_ranks() const {
    std::string text;
    for (const int peer : engine_.late_ranks()) text += (text.empty() ? "" : ", ") + names_[index(peer)];
    return text;
  }

  std::string name_;
  std::shared_ptr<SharedSegment> segment_;
  int rank_;
  std::vector<std::string> names_;
  std::function<void()> meanwhile_;  // may be empty
  ChunkEngine engine_;
  bool broken_ = false;
};

class SharedTransfer final : public Transfer {
 public:
  SharedTransfer(SharedGroup& group, const char* what, std::size_t bytes, std::uint64_t end)
      : group_(group), what_(what), bytes_(bytes), end_(end) {}
  ~SharedTransfer() override {
    if (!group_.is_collected(end_)) group_.break_off();
  }

  bool done() override { return group_.is_collected(end_) || group_.progress(end_); }
  void wait(Deadline deadline) override {
    if (group_.is_collected(end_)) return;
    group_.wait(end_, deadline, std::string(what_) + " of " + std::to_string(bytes_) + " bytes", stopwatch_);
  }

 private:
  SharedGroup& group_;
  const char* what_;
  std::size_t bytes_;
  std::uint64_t end_;
  Stopwatch stopwatch_;
};

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::string name, std::shared_ptr<SharedSegment> segment, int rank,
                           std::vector<std::string> names, CommOptions options,
                           std::function<void()> meanwhile)
      : group_(std::move(name), std::move(segment), rank, std::move(names), std::move(meanwhile)),
        options_(options) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name(); }

  void all_reduce(Stream& stream, const Tensor& tensor, ReduceOp op) override {
    start(Kind::all_reduce, "all_reduce", stream, tensor, op)->wait(Deadline::after_s(options_.deadline_s));
  }
  TransferPtr start_reduce_scatter(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    return start(Kind::reduce_scatter, "reduce_scatter", stream, tensor, ReduceOp::sum);
  }
  TransferPtr start_all_gather(Stream& stream, const Tensor& tensor) override {
    assert(tensor.size() % size() == 0);
    return start(Kind::all_gather, "all_gather", stream, tensor, ReduceOp::sum);
  }

 private:
  TransferPtr start(Kind kind, const char* what, Stream& stream, const Tensor& tensor, ReduceOp op) {
    if (size() == 1 || tensor.size() == 0) return std::make_unique<DoneTransfer>();
    stream.synchronize(Deadline::after_s(options_.deadline_s));
    auto transfer =
        std::make_unique<SharedTransfer>(group_, what, tensor.bytes(), group_.enqueue(kind, tensor, op));
    transfer->done();  // as far as it goes without waiting: the contributions are soon where the others look
    return transfer;
  }

  SharedGroup group_;
  CommOptions options_;
};

}  // namespace

std::unique_ptr<Communicator> create_shared_memory_communicator(std::string name,
                                                                std::shared_ptr<SharedSegment> segment,
                                                                int rank, std::vector<std::string> names,
                                                                CommOptions options,
                                                                std::function<void()> meanwhile) {
  assert(segment->bytes() >= ChunkWindow::bytes(static_cast<int>(names.size())));
  return std::make_unique<SharedMemoryCommunicator>(std::move(name), std::move(segment), rank,
                                                    std::move(names), options, std::move(meanwhile));
}

std::unique_ptr<Communicator> try_create_shared_memory_communicator(const std::string& name,
                                                                    Endpoint& endpoint, CommOptions options,
                                                                    std::function<void()> meanwhile) {
  std::shared_ptr<SharedSegment> segment =
      share_segment(endpoint, ChunkWindow::bytes(endpoint.size()), options.deadline_s);
  if (!segment) return nullptr;
  std::vector<std::string> names;
  for (int rank = 0; rank < endpoint.size(); ++rank) names.push_back(endpoint.describe(rank));
  return create_shared_memory_communicator(name, std::move(segment), endpoint.rank(), std::move(names),
                                           options, std::move(meanwhile));
}

}  // namespace tenax::comm
