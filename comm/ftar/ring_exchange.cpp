#include "comm/ftar/ring_exchange.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;
using kernels::Tensor;
using Cause = FtarFailure::Cause;
using Kind = FtarMessage::Kind;

constexpr std::size_t kMostEarlyGrants = 65536;

BucketName name_in(const FtarMessage& message) { return {message.step, message.bucket}; }

[[noreturn]] void throw_nonsense(const std::string& what) {
  throw Error(Scope::link, "it sent " + what + ", which cannot be");
}

}  // namespace

RingExchange::RingExchange(Settings settings, RingConnections connections, OwnRegions regions,
                           ChunkArithmetic& arithmetic)
    : settings_(std::move(settings)),
      sender_({.wire = settings_.wire,
               .chunk_bytes = settings_.shape.chunk_bytes,
               .link_gbps = settings_.link_gbps},
              arithmetic) {
  const RingShape& shape = settings_.shape;
  before_.index = (shape.index + shape.ranks - 1) % shape.ranks;
  after_.index = (shape.index + 1) % shape.ranks;
  for (auto& connection : connections.before)
    before_.streams.push_back(std::make_unique<Stream>(std::move(connection)));
  for (auto& connection : connections.after)
    after_.streams.push_back(std::make_unique<Stream>(std::move(connection)));
  for (const auto& stream : before_.streams)
    receivers_.emplace_back(stream->messages, arithmetic, settings_.wire);
  regions_before_.emplace(before_.first().bytes(), name_of(before_.index));
  sender_.share(std::move(regions), after_.first().bytes());
}

void RingExchange::add(std::unique_ptr<BucketExchange> bucket) {
  assert(!find(bucket->name()) && "a bucket of a step is started once");
  buckets_.push_back(std::move(bucket));
  BucketExchange& added = *buckets_.back();
  FtarMessage grant = message_about(Kind::grant, added.name());
  grant.turn = added.elements();
  grant.column = static_cast<std::int32_t>(added.dtype());
  grant.offset = settings_.checksum;
  before_.first().post(grant);
  if (const auto early = early_grants_.find(added.name()); early != early_grants_.end()) {
    match(added, early->second);
    early_grants_.erase(early);
  }
}

BucketExchange* RingExchange::find(const BucketName& name) {
  const auto found = std::find_if(buckets_.begin(), buckets_.end(),
                                  [&](const auto& bucket) { return bucket->name() == name; });
  return found == buckets_.end() ? nullptr : found->get();
}

void RingExchange::complete_if_done(BucketExchange& bucket) {
  if (!bucket.is_done()) return;
  bucket.outcome().complete();
  ++completed_;
  std::erase_if(buckets_, [&](const auto& other) { return other.get() == &bucket; });
}

bool RingExchange::advance() {
  bool has_moved = for_each_stream(after_, [this](std::size_t i) { return serve_after(i); });
  has_moved |= for_each_stream(before_, [this](std::size_t i) { return serve_before(i); });
  has_moved |= send_chunks();
  for (Neighbour* neighbour : {&before_, &after_})
    has_moved |=
        for_each_stream(*neighbour, [&](std::size_t i) { return neighbour->streams[i]->messages.flush(); });
  return has_moved;
}

/// Its errors are the neighbour's loss. Who has all that it needs may leave before this rank has: a replica that
/// changes epochs does.
template <class Work>
bool RingExchange::for_each_stream(Neighbour& neighbour, Work work) {
  bool has_moved = false;
  for (std::size_t i = 0; i < neighbour.streams.size() && !neighbour.loss; ++i) try {
      if (!neighbour.streams[i]->has_ended) has_moved |= work(i);
    } catch (const FtarError&) {
      throw;
    } catch (const Error& error) {
      if (error.scope() != Scope::link) throw;
      neighbour.loss = {.cause = Cause::peer,
                        .peer = neighbour.index,
                        .sentence = "exchange with " + name_of(neighbour.index) + ": " + error.what()};
      has_moved = true;
    }
  if (neighbour.loss && needs(neighbour)) throw FtarError(*neighbour.loss);
  return has_moved;
}

bool RingExchange::needs(const Neighbour& neighbour) const {
  return std::any_of(buckets_.begin(), buckets_.end(), [&](const auto& bucket) {
    return &neighbour == &before_ ? !bucket->has_received_all() : !bucket->is_acknowledged();
  });
}

/// On each of its streams: what it sent before on another one may come later.
void RingExchange::end(Neighbour& neighbour, Stream& stream, const FtarMessage& message) {
  stream.has_ended = true;
  if (!std::all_of(neighbour.streams.begin(), neighbour.streams.end(),
                   [](const auto& other) { return other->has_ended; }))
    return;
  const bool knows = message.bucket >= 0 && message.bucket < settings_.shape.ranks;
  const int at_fault = knows ? message.bucket : neighbour.index;
  neighbour.loss = {.cause = Cause::peer,
                    .peer = at_fault,
                    .sentence = name_of(neighbour.index) + " has ended the exchange" +
                                (at_fault == neighbour.index ? "" : " because of " + name_of(at_fault))};
}

void RingExchange::fail(const FtarFailure& failure) {
  FtarMessage ends = message_about(Kind::ends, {});
  ends.bucket = failure.peer;
  for (Neighbour* neighbour : {&before_, &after_})
    for (const auto& stream : neighbour->streams) stream->messages.end_with(ends);
  // From here on neighbours take nothing more from this rank's memory (take_chunk).
  FtarFailure each = failure;
  for (const auto& bucket : std::exchange(buckets_, {})) {
    bucket->outcome().fail(each);
    each.is_cancelled = true;
  }
}

bool RingExchange::prepare_to_sleep(std::vector<pollfd>& polled) {
  for (Neighbour* neighbour : {&before_, &after_}) {
    if (neighbour->loss) continue;
    for (const auto& stream : neighbour->streams) {
      if (stream->has_ended) continue;
      const std::optional<pollfd> entry = stream->messages.prepare_to_sleep();
      if (!entry) return false;
      polled.push_back(*entry);
    }
  }
  return true;
}

double RingExchange::next_departure_s() const {
  double next_s = 0;
  for (const Neighbour* neighbour : {&before_, &after_})
    for (const auto& stream : neighbour->streams)
      if (const auto until_s = stream->messages.waits_until_s();
          until_s && (next_s == 0 || *until_s < next_s))
        next_s = *until_s;
  return next_s;
}

void RingExchange::tell_alive() {
  for (Neighbour* neighbour : {&before_, &after_})
    for (const auto& stream : neighbour->streams)
      if (!neighbour->loss && !stream->has_ended) stream->messages.post_alive();
}

std::optional<int> RingExchange::silent_replica(double dead_s) const {
  const double since_s = kernels::steady_now_s() - dead_s;
  for (const Neighbour* neighbour : {&before_, &after_}) {
    const auto& streams = neighbour->streams;
    const bool is_silent = std::all_of(streams.begin(), streams.end(), [&](const auto& stream) {
      return stream->messages.heard_s() < since_s;
    });
    if (is_silent && needs(*neighbour)) return neighbour->index;
  }
  return std::nullopt;
}

void RingExchange::forgive(double pause_s) {
  for (Neighbour* neighbour : {&before_, &after_})
    for (const auto& stream : neighbour->streams) stream->messages.forgive(pause_s);
}

int RingExchange::awaited_replica() const {
  const BucketExchange& oldest = *buckets_.front();
  return oldest.is_granted() && !oldest.has_received_all() ? before_.index : after_.index;
}

bool RingExchange::serve_before(std::size_t stream) {
  ChunkReceiver& receiver = receivers_[stream];
  if (receiver.is_busy()) {
    const bool has_moved = receiver.advance();
    if (receiver.is_complete()) finish_chunk(stream, receiver.finish(), receiver.chunk());
    return has_moved;
  }
  const std::optional<FtarMessage> message = before_.streams[stream]->messages.receive();
  if (!message) return false;
  if (message->kind == Kind::chunk)
    take_chunk(stream, *message);
  else if (message->kind == Kind::ends)
    end(before_, *before_.streams[stream], *message);
  else if (message->kind != Kind::alive)
    throw_nonsense("another message than a chunk");
  return message->kind != Kind::alive;
}

void RingExchange::take_chunk(std::size_t stream, const FtarMessage& message) {
  BucketExchange* const bucket = find(name_in(message));
  const ChunkName chunk{message.turn, message.column};
  const bool is_next = bucket && chunk.column >= 0 && chunk.column < bucket->plan().columns() &&
                       static_cast<std::size_t>(chunk.column) % receivers_.size() == stream &&
                       bucket->next_to_receive(chunk.column) == chunk;
  if (!is_next) throw_nonsense("a chunk out of turn");
  const Tensor result = bucket->result(chunk);
  ChunkReceiver& receiver = receivers_[stream];
  if (message.region != FtarMessage::kNoRegion && bucket->has_data() && message.payload_bytes == 0) {
    const std::byte* values = regions_before_->at({message.region, message.offset}, result.bytes());
    receiver.read_in_place(*bucket, chunk, values);
    receiver.finish();
    // A rank ends its connections before it lets go of its memory: while they stand, what was read was whole.
    before_.streams[stream]->messages.connection().check();
    return finish_chunk(stream, *bucket, chunk);
  }
  if (message.payload_bytes != (bucket->has_data() ? wire_bytes(settings_.wire, result) : 0))
    throw_nonsense("a chunk of another size");
  if (bucket->has_data()) return receiver.begin(*bucket, chunk);
  finish_chunk(stream, *bucket, chunk);
}

void RingExchange::finish_chunk(std::size_t stream, BucketExchange& bucket, const ChunkName& chunk) {
  bucket.count_received(chunk);
  if (!bucket.has_received_all()) return;
  before_.streams[stream]->messages.post(message_about(Kind::ack, bucket.name()));
  complete_if_done(bucket);
}

bool RingExchange::serve_after(std::size_t stream) {
  const std::optional<FtarMessage> message = after_.streams[stream]->messages.receive();
  if (!message) return false;
  if (message->kind == Kind::ends)
    end(after_, *after_.streams[stream], *message);
  else if (message->kind == Kind::grant)
    take_grant(*message);
  else if (message->kind == Kind::ack)
    take_acknowledgement(*message);
  else if (message->kind != Kind::alive)
    throw_nonsense("another message than a grant or an acknowledgement");
  return message->kind != Kind::alive;
}

void RingExchange::take_grant(const FtarMessage& message) {
  if (BucketExchange* const bucket = find(name_in(message))) return match(*bucket, message);
  if (early_grants_.size() == kMostEarlyGrants) throw_nonsense("too many grants");
  early_grants_[name_in(message)] = message;
}

void RingExchange::match(BucketExchange& bucket, const FtarMessage& grant) const {
  if (grant.turn != bucket.elements() || grant.column != static_cast<std::int32_t>(bucket.dtype()) ||
      grant.offset != settings_.checksum)
    throw FtarError(
        {.cause = Cause::fatal,
         .peer = after_.index,
         .sentence = name_of(after_.index) +
                     " exchanges another bucket or with other options; start all replicas with one deck"});
  bucket.grant();
}

void RingExchange::take_acknowledgement(const FtarMessage& message) {
  BucketExchange* const bucket = find(name_in(message));
  if (!bucket || !bucket->has_sent_all() || bucket->is_acknowledged())
    throw_nonsense("an acknowledgement of what it has not got");
  bucket->acknowledge();
  transfers_.add(kernels::steady_now_s() - bucket->left_s());
  complete_if_done(*bucket);
}

bool RingExchange::send_chunks() {
  bool has_sent = false;
  for (const auto& bucket : buckets_)
    while (chunks_in_flight() < settings_.shape.chunks_in_flight) {
      const std::optional<ChunkName> chunk = bucket->next_to_send();
      if (!chunk) break;
      send(*bucket, *chunk);
      has_sent = true;
    }
  return has_sent;
}

void RingExchange::send(BucketExchange& bucket, const ChunkName& chunk) {
  FtarStream& stream =
      after_.streams[static_cast<std::size_t>(chunk.column) % after_.streams.size()]->messages;
  stream.post(sender_.outgoing(bucket, chunk, stream));
  bucket.count_sent(chunk);
  if (bucket.has_sent_all()) bucket.left(kernels::steady_now_s());
}

int RingExchange::chunks_in_flight() const {
  std::size_t waiting = 0;
  for (const auto& stream : after_.streams) waiting += stream->messages.queued();
  return static_cast<int>(waiting);
}

}  // namespace tenax::comm
