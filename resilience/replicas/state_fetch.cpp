#include "resilience/replicas/state_fetch.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "comm/transport/connection_attempt.hpp"
#include "comm/worker.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Deadline;

namespace {

/// One travels while the one before is written.
constexpr std::size_t kAskedAhead = 2;
constexpr double kLook_s = 0.05;  // for the end
/// What another source owes for so long is asked of one that has nothing to give.
constexpr double kPatience_s = 0.05;

}  // namespace

StateFetch::StateFetch(const StateSlices& slices, comm::Transport& transport, std::vector<comm::Peer> sources,
                       StepPoints& points, Options options)
    : slices_(slices),
      transport_(transport),
      points_(points),
      sources_(std::move(sources)),
      at_once_(std::min(static_cast<int>(sources_.size()), kMostSources)),
      options_(std::move(options)),
      queue_(slices.count(), at_once_, options_.turn),
      asking_(at_once_) {
  try {
    for (int index = 0; index < at_once_; ++index)
      threads_.push_back(comm::start_prompt_thread([this, index] { run(index); }));
  } catch (...) {
    end();
    throw;
  }
}

StateFetch::~StateFetch() { end(); }

void StateFetch::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& connection : connections_) connection->shut_down();
  }
  for (std::thread& thread : threads_) thread.join();
}

// One source after the other: the next one where it gives no more.
void StateFetch::run(int index) {
  const int sources = static_cast<int>(sources_.size());
  for (int number = index; number < sources && !stopping_ && !is_complete(); number += at_once_) {
    std::vector<int> asked;
    try {
      fetch_from(index, source_at(number), asked);
    } catch (const kernels::Error&) {  // another source gives it
    }
    const std::lock_guard lock(mutex_);
    queue_.leave(index, asked);
  }
  --asking_;
}

// Who fetches at the same time begins with others of the sources.
const comm::Peer& StateFetch::source_at(int number) const {
  return sources_[static_cast<std::size_t>(number + options_.turn * at_once_) % sources_.size()];
}

comm::Connection& StateFetch::keep(std::unique_ptr<comm::Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (stopping_) connection->shut_down();
  return *connections_.emplace_back(std::move(connection));
}

void StateFetch::fetch_from(int index, const comm::Peer& source, std::vector<int>& asked) {
  comm::ConnectionAttempt attempt(transport_, source, options_.purpose, stopping_,
                                  Deadline::after_s(options_.deadline_s));
  comm::Connection& connection = keep(attempt.connect());
  const struct End {
    comm::Connection& connection;
    ~End() { connection.shut_down(); }
  } end{connection};
  std::vector<std::byte> memory;
  bool was_useful = false;
  double gave_s = kernels::steady_now_s();
  while (!stopping_ && !is_complete()) {
    const bool waited = kernels::steady_now_s() - gave_s > kPatience_s;
    while (asked.size() < kAskedAhead && ask(index, connection, asked, waited)) {
    }  // never while a slice is owed that nobody would read: TCP takes that for a silent host
    if (asked.empty()) {  // others have the rest, and may fail to give it
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (!take(connection, asked, memory)) return;
    gave_s = kernels::steady_now_s();
    if (!was_useful) ++useful_sources_;
    was_useful = true;
  }
}

bool StateFetch::ask(int index, comm::Connection& connection, std::vector<int>& asked, bool waited) {
  std::optional<int> slice;
  double turn_s = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!asked.empty() && kernels::steady_now_s() < next_turn_s_) return false;
    slice = queue_.next(index, asked, waited);
    if (slice) turn_s = reserve_turn(slices_.bytes_of(*slice));
  }
  if (!slice) return false;
  asked.push_back(*slice);
  await_turn(turn_s);
  const comm::MessageHeader request{.kind = kStateRequest,
                                    .number = static_cast<std::uint64_t>(*slice),
                                    .sequence = static_cast<std::uint64_t>(options_.done)};
  connection.send(request, {}, Deadline::after_s(options_.deadline_s));
  return true;
}

// Its time, by the bandwidth that the fetch may take. The caller holds the lock.
double StateFetch::reserve_turn(std::size_t bytes) {
  if (options_.bytes_per_s <= 0) return 0;
  const double turn_s = std::max(kernels::steady_now_s(), next_turn_s_);
  next_turn_s_ = turn_s + static_cast<double>(bytes) / options_.bytes_per_s;
  return turn_s;
}

void StateFetch::await_turn(double turn_s) const {
  for (double now_s = kernels::steady_now_s(); !stopping_ && now_s < turn_s; now_s = kernels::steady_now_s())
    kernels::sleep_until_s(std::min(turn_s, now_s + kLook_s));
}

// False: another source has been quicker.
bool StateFetch::claim(int slice) {
  const std::lock_guard lock(mutex_);
  return queue_.take(slice);
}

// False: this source gives no more.
bool StateFetch::take(comm::Connection& connection, std::vector<int>& asked, std::vector<std::byte>& memory) {
  const auto deadline = Deadline::after_s(options_.deadline_s);
  std::optional<comm::MessageHeader> reply;
  while (!reply) {
    if (stopping_ || deadline.expired()) return false;
    reply = connection.receive(Deadline::after_s(kLook_s));
  }
  const int slice = asked.front();
  const std::size_t bytes = slices_.bytes_of(slice);
  const bool is_it = reply->kind == kStateSlice && reply->number == static_cast<std::uint64_t>(slice) &&
                     reply->sequence == static_cast<std::uint64_t>(options_.done) &&
                     reply->payload_bytes == bytes + kStateChecksumBytes;
  if (!is_it) return false;
  memory.resize(reply->payload_bytes);
  connection.receive_payload(memory, deadline);
  points_.reach(StepPoint::state_receive, options_.done);
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, memory.data() + bytes, sizeof checksum);
  const auto contents = std::span<const std::byte>(memory).first(bytes);
  if (checksum != state_checksum(contents)) return false;
  asked.erase(asked.begin());
  if (!claim(slice)) return true;
  slices_.write(slice, contents);
  bytes_ += bytes;
  completed_s_ = kernels::steady_now_s();
  ++fetched_;
  return true;
}

}  // namespace tenax::resilience
