#include "comm/ftar/ftar_worker.hpp"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/failure.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {
namespace {

using kernels::steady_now_s;
using Cause = FtarFailure::Cause;

constexpr double kLook_s = 0.005;  // between two looks whether the epoch is frozen
constexpr double kLookForConnection_s = 0.001;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

timespec timespec_of(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

}  // namespace

FtarWorker::FtarWorker(FtarRing ring, Transport& transport, FtarOptions options,
                       std::unique_ptr<ChunkArithmetic> arithmetic, std::shared_ptr<FtarControl> control)
    : ring_(std::move(ring)),
      options_(std::move(options)),
      arithmetic_(std::move(arithmetic)),
      control_(std::move(control)),
      connector_(ring_, transport, is_connecting_over_) {
  thread_ = start_prompt_thread([this] { run(); });
}

FtarWorker::~FtarWorker() {
  control_->ask_for_end();
  thread_.join();
}

void FtarWorker::run() {
  try {
    exchange_.emplace(settings(), connector_, OwnRegions(options_.memory), *arithmetic_);
    exchange_->begin();  // what fails from here on ends attempts to connect, which would be waited for
    exchange();
  } catch (const FtarError& error) {
    fail(error.failure());
  } catch (const kernels::Error& error) {
    const bool is_link = error.scope() == kernels::Scope::link;
    fail({.cause = is_link ? Cause::peer : Cause::fatal,
          .peer = is_link ? ring_.after() : FtarFailure::kNobody,
          .sentence = error.what()});
  } catch (...) {
    fail({.sentence = failure_of(std::current_exception()).sentence});
  }
}

// A transport answers even while its rank computes. This rank may have been stopped too.
double FtarWorker::reach_s() const {
  constexpr double kPatience = 1.5;
  return options_.dead_s > 0 ? std::min(kPatience * options_.dead_s, options_.deadline_s)
                             : options_.deadline_s;
}

// Who gives signs of life may be about to enter the epoch, or compute.
double FtarWorker::patience_s() const {
  return options_.dead_s > 0 ? std::max(options_.deadline_s, options_.longest_s) : options_.deadline_s;
}

RingExchange::Settings FtarWorker::settings() const {
  RingExchange::Settings settings{.shape = {.ranks = ring_.size(),
                                            .index = ring_.index,
                                            .chunk_bytes = options_.chunk_bytes,
                                            .chunks_in_flight = options_.chunks_in_flight},
                                  .wire = options_.wire,
                                  .link_gbps = options_.link_gbps,
                                  .names = {},
                                  .connections = options_.connections,
                                  .connect_s = patience_s(),
                                  .replace_s = reach_s(),
                                  .checksum = 0};
  for (const Peer& peer : ring_.peers) settings.names.push_back(peer.name);
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(ring_.size()), std::uint64_t{options_.chunk_bytes},
        static_cast<std::uint64_t>(options_.chunks_in_flight),
        static_cast<std::uint64_t>(options_.connections), static_cast<std::uint64_t>(options_.wire)})
    settings.checksum = mix(settings.checksum, value);
  return settings;
}

void FtarWorker::exchange() {
  double moved_s = looked_s_ = steady_now_s();
  while (true) {
    throw_if_over();
    keep_alive();
    take_buckets();
    const bool has_moved = exchange_->advance();
    control_->add(exchange_->take_transfers());
    if (exchange_->take_completed() > 0) control_->notify();
    if (has_moved || exchange_->is_idle()) moved_s = steady_now_s();
    if (has_moved) continue;
    // At once: a thread that yields keeps its core from ranks that have something to do, as kernels since 6.6 pick it again.
    throw_if_nothing_moves(moved_s);
    sleep();
  }
}

void FtarWorker::take_buckets() {
  while (auto bucket = control_->take()) exchange_->add(std::move(bucket));
}

void FtarWorker::throw_if_over() const {
  const bool is_frozen = options_.frozen_epoch && *options_.frozen_epoch >= ring_.epoch;
  if (!is_frozen && !control_->is_end_asked()) return;
  throw FtarError({.cause = Cause::aborted,
                   .sentence = "the exchange of epoch " + std::to_string(ring_.epoch) + " was aborted"});
}

// A stopped process that goes on has not listened: its neighbours get their time anew.
void FtarWorker::keep_alive() {
  if (options_.dead_s <= 0) return;
  const double now = steady_now_s(), pause_s = now - std::exchange(looked_s_, now);
  if (pause_s > options_.dead_s / 2) exchange_->forgive(pause_s);
  if (now - told_s_ < options_.alive_s) return;
  told_s_ = now;
  exchange_->tell_alive();
  exchange_->seek_other_ways(options_.dead_s / 2);
  const std::optional<int> silent = exchange_->silent_replica(options_.dead_s);
  if (!silent) return;
  throw FtarError({.cause = Cause::timeout,
                   .peer = *silent,
                   .sentence = ring_.peers[static_cast<std::size_t>(*silent)].name +
                               " has given no sign of life in the exchange of epoch " +
                               std::to_string(ring_.epoch)});
}

void FtarWorker::throw_if_nothing_moves(double moved_s) const {
  const double waited_s = steady_now_s() - moved_s;
  if (waited_s < patience_s()) return;
  const int awaited = exchange_->awaited_replica();
  const auto name = [&](int index) { return ring_.peers[static_cast<std::size_t>(index)].name; };
  throw FtarError({.cause = Cause::timeout,
                   .peer = awaited,
                   .sentence = timeout_sentence("exchange of epoch " + std::to_string(ring_.epoch),
                                                name(ring_.index), waited_s, name(awaited))});
}

/// While nothing is under way and nothing waits to leave, only a message, a new bucket or the next sign of life ends the
/// sleep.
void FtarWorker::sleep() {
  std::vector<pollfd> polled{{control_->wake_descriptor(), POLLIN, 0}};
  if (!exchange_->prepare_to_sleep(polled)) return;
  const double next_s = exchange_->next_departure_s();
  const double look_s = exchange_->is_connecting() ? kLookForConnection_s : kLook_s;
  const timespec limit = timespec_of(next_s > 0 ? std::clamp(next_s - steady_now_s(), 0.0, look_s) : look_s);
  const bool is_idle = exchange_->is_idle() && !exchange_->is_connecting() && next_s == 0;
  const timespec until_told = timespec_of(options_.alive_s);
  const timespec* const idle_limit = options_.dead_s > 0 ? &until_told : nullptr;
  ppoll(polled.data(), polled.size(), is_idle ? idle_limit : &limit, nullptr);
  if (polled[0].revents != 0) control_->answer_wake();
}

void FtarWorker::fail(const FtarFailure& failure) {
  is_connecting_over_ = true;
  const bool has_buckets = exchange_ && !exchange_->is_idle();
  if (exchange_) exchange_->fail(failure);
  control_->break_off(failure, !has_buckets);
}

}  // namespace tenax::comm
