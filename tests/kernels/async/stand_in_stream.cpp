#include "tests/kernels/async/stand_in_stream.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "kernels/error.hpp"
#include "tests/kernels/async/stand_in_memory.hpp"

namespace tenax::kernels::test {
namespace {

constexpr double kPatience_s = 120;

template <class Ready>
bool wait_for(Ready ready, Deadline deadline) {
  Backoff backoff;
  while (!ready()) {
    if (deadline.expired()) return ready();
    backoff.pause();
  }
  return true;
}

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "stand-in: %s\n", what.c_str());
  std::abort();
}

template <class Ready>
void wait_in_stream(Ready ready, const char* what) {
  if (!wait_for(ready, Deadline::after_s(kPatience_s)))
    give_up(std::string("a stream waited for two minutes for ") + what);
}

}  // namespace

bool StandInEvent::done() const {
  return mark_->passed.load(std::memory_order_acquire) >= mark_->recorded.load(std::memory_order_acquire);
}

// Without captures only read: any thread may record.
void StandInEvent::set_capture(const std::shared_ptr<Capture>& capture) {
  if (this->capture() != capture) capture_ = capture;
}

void StandInEvent::wait(Deadline deadline) const {
  if (!wait_for([this] { return done(); }, deadline))
    throw Error(Scope::rank, "stand-in: an event was not passed in time");
}

double StandInEvent::time_s() const { return mark_->time_s.load(std::memory_order_acquire); }

StreamQueue::StreamQueue(Device& cpu, const StandInOptions& options)
    : inner_(cpu.create_stream()),
      jitter_us_(options.jitter_us),
      random_(options.seed),
      head_(new Node),
      tail_(head_),
      thread_([this] { run(); }) {}

StreamQueue::~StreamQueue() {
  push({});
  thread_.join();
  delete head_;
}

void StreamQueue::push(Work work) {
  Node* const node = new Node;
  node->work = std::move(work);
  tail_->next.store(node, std::memory_order_release);
  tail_ = node;
  pushed_.fetch_add(1, std::memory_order_release);
  pushed_.notify_one();
}

bool StreamQueue::is_empty() const {
  return done_->load(std::memory_order_acquire) >= pushed_.load(std::memory_order_relaxed);
}

void StreamQueue::wait_until_empty(Deadline deadline) const {
  const std::uint64_t all = pushed_.load(std::memory_order_relaxed);
  if (!wait_for([&] { return done_->load(std::memory_order_acquire) >= all; }, deadline))
    throw Error(Scope::rank, "stand-in: a stream was not empty in time");
}

std::function<bool()> StreamQueue::mark() const {
  return [done = done_, all = pushed_.load(std::memory_order_relaxed)] {
    return done->load(std::memory_order_acquire) >= all;
  };
}

// Nothing to do ends the thread.
void StreamQueue::run() {
  for (std::uint64_t taken = 0;; ++taken) {
    pushed_.wait(taken, std::memory_order_acquire);
    Node* const node = head_->next.load(std::memory_order_acquire);
    delete head_;
    head_ = node;
    if (!node->work) return;
    perform(*node);
    done_->store(taken + 1, std::memory_order_release);
  }
}

void StreamQueue::perform(Node& node) {
  constexpr std::uint64_t kOneIn = 8;
  if (jitter_us_ > 0 && random_() % kOneIn == 0)
    std::this_thread::sleep_for(
        std::chrono::microseconds(random_() % static_cast<std::uint64_t>(jitter_us_)));
  try {
    node.work(*inner_);
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  node.work = nullptr;
}

void StandInStream::add(const Capture::Maker& maker) {
  if (const auto capture = capture_.lock())
    capture->makers.push_back(maker);
  else
    queue_->push(maker());
}

void StandInStream::enqueue(const StreamQueue::Work& work) {
  add([work] { return work; });
}

void StandInStream::record(Event& event) {
  auto& own = dynamic_cast<StandInEvent&>(event);
  own.set_capture(capture_.lock());
  add([mark = own.mark()]() -> StreamQueue::Work {
    return [mark, number = mark->recorded.fetch_add(1, std::memory_order_acq_rel) + 1](Stream&) {
      mark->time_s.store(steady_now_s(), std::memory_order_release);
      mark->passed.store(number, std::memory_order_release);
    };
  });
}

void StandInStream::wait(const Event& event) {
  const auto& own = dynamic_cast<const StandInEvent&>(event);
  if (const auto capture = own.capture()) capture_ = capture;
  add([mark = own.mark()]() -> StreamQueue::Work {
    return [mark, number = mark->recorded.load(std::memory_order_acquire)](Stream&) {
      wait_in_stream([&] { return mark->passed.load(std::memory_order_acquire) >= number; }, "an event");
    };
  });
}

void StandInStream::set(Flag& flag, std::uint32_t value) {
  enqueue([word = dynamic_cast<StandInFlag&>(flag).word(), value](Stream&) {
    word->store(value, std::memory_order_release);
  });
}

void StandInStream::wait(const Flag& flag, std::uint32_t value) {
  enqueue([word = dynamic_cast<const StandInFlag&>(flag).word(), value](Stream&) {
    const auto distance = [&] {
      return static_cast<std::int32_t>(word->load(std::memory_order_acquire) - value);
    };
    wait_in_stream([&] { return distance() >= 0; }, "a flag");  // as CU_STREAM_WAIT_VALUE_GEQ compares
  });
}

void StandInStream::begin_capture() {
  own_ = std::make_shared<Capture>();
  capture_ = own_;
}

std::unique_ptr<Graph> StandInStream::end_capture() {
  auto graph = std::make_unique<StandInGraph>(std::move(own_->makers));
  own_.reset();
  return graph;
}

void StandInStream::launch(Graph& graph) {
  for (const Capture::Maker& maker : dynamic_cast<StandInGraph&>(graph).makers()) add(maker);
}

void StandInStream::reserve_scratch(std::size_t bytes) {
  if (bytes > (scratch_ ? scratch_->bytes() : 0)) scratch_ = memory_.allocate(bytes);
}

void StandInStream::synchronize(Deadline deadline) {
  if (!capture_.expired()) give_up("a stream is waited for while it is captured: nothing of it runs yet");
  queue_->wait_until_empty(deadline);
}

}  // namespace tenax::kernels::test
