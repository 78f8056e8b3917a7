// Streams, events and flags of the stand-in. No lock joins a stream's thread and the one that enqueues: a lock would put
// in order what events must.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::kernels::test {

/// What a stream's marks and a host's questions share; kept alive by both.
struct Mark {
  std::atomic<std::uint64_t> recorded = 0;
  std::atomic<std::uint64_t> passed = 0;  ///< how many recordings have been passed
  std::atomic<double> time_s = 0;
};

struct Capture;
class StandInMemory;

class StandInEvent final : public Event {
 public:
  bool done() const override;
  void wait(Deadline deadline) const override;
  double time_s() const override;

  const std::shared_ptr<Mark>& mark() const { return mark_; }
  /// The capture that its last recording is part of; null where that is over.
  std::shared_ptr<Capture> capture() const { return capture_.lock(); }
  void set_capture(const std::shared_ptr<Capture>& capture);

 private:
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
  std::weak_ptr<Capture> capture_;
};

class StandInFlag final : public Flag {
 public:
  std::uint32_t value() const override { return word_->load(std::memory_order_acquire); }
  void set(std::uint32_t value) override { word_->store(value, std::memory_order_release); }
  const std::shared_ptr<std::atomic<std::uint32_t>>& word() const { return word_; }

 private:
  std::shared_ptr<std::atomic<std::uint32_t>> word_ = std::make_shared<std::atomic<std::uint32_t>>(0);
};

/// The thread of a stream, and what it has still to run. Only one thread at a time pushes.
class StreamQueue {
 public:
  using Work = std::function<void(Stream& inner)>;

  StreamQueue(Device& cpu, const StandInOptions& options);
  ~StreamQueue();  ///< runs what is there first
  void push(Work work);
  bool is_empty() const;
  void wait_until_empty(Deadline deadline) const;
  /// Tells from now on whether all that is there now has run.
  std::function<bool()> mark() const;

 private:
  struct Node {
    Work work;
    std::atomic<Node*> next = nullptr;
  };
  void run();
  void perform(Node& node);

  std::unique_ptr<Stream> inner_;
  const int jitter_us_;
  std::mt19937_64 random_;
  Node* head_;  // the stream's thread takes what comes after it
  Node* tail_;  // the caller appends to it
  std::atomic<std::uint64_t> pushed_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> done_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::thread thread_;
};

/// What is enqueued while a capture lasts, on all its streams, in that order: each makes the work of one launch. The
/// capturing stream holds it, so that it ends with the capture.
struct Capture {
  using Maker = std::function<StreamQueue::Work()>;
  std::vector<Maker> makers;
};

/// Its launches run everything on the launching stream, in the order of the calls: what one stream of a graph has to wait
/// for in another is not checked.
class StandInGraph final : public Graph {
 public:
  explicit StandInGraph(std::vector<Capture::Maker> makers) : makers_(std::move(makers)) {}
  const std::vector<Capture::Maker>& makers() const { return makers_; }

 private:
  std::vector<Capture::Maker> makers_;
};

class StandInStream final : public Stream {
 public:
  /// `memory` must outlive it.
  StandInStream(std::shared_ptr<StreamQueue> queue, StandInMemory& memory)
      : queue_(std::move(queue)), memory_(memory) {}

  void enqueue(const StreamQueue::Work& work);

  void record(Event& event) override;
  void wait(const Event& event) override;
  void set(Flag& flag, std::uint32_t value) override;
  void wait(const Flag& flag, std::uint32_t value) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;
  void launch(Graph& graph) override;
  void synchronize(Deadline deadline) override;
  void* native_handle() override { return static_cast<Stream*>(this); }
  void reserve_scratch(std::size_t bytes) override;

 private:
  void add(const Capture::Maker& maker);

  std::shared_ptr<StreamQueue> queue_;
  StandInMemory& memory_;
  std::unique_ptr<Buffer> scratch_;
  std::shared_ptr<Capture> own_;  // while this stream captures
  std::weak_ptr<Capture>
      capture_;  // that this stream takes part in, by itself or because it waits for one that does
};

}  // namespace tenax::kernels::test
