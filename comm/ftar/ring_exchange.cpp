#include "comm/ftar/ring_exchange.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {
namespace {

using kernels::Deadline;
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

RingExchange::RingExchange(Settings settings, const RingConnector& connector, OwnRegions regions,
                           ChunkArithmetic& arithmetic)
    : settings_(std::move(settings)),
      connector_(connector),
      arithmetic_(arithmetic),
      sender_({.wire = settings_.wire,
               .chunk_bytes = settings_.shape.chunk_bytes,
               .link_gbps = settings_.link_gbps},
              std::move(regions), arithmetic),
      before_(RingNeighbour::Side::before, settings_.shape.before(), name_of(settings_.shape.before()),
              settings_.connections, maker_before()),
      after_(RingNeighbour::Side::after, settings_.shape.after(), name_of(settings_.shape.after()),
             settings_.connections, maker_after()) {}

RingNeighbour::Maker RingExchange::maker_before() const {
  return {
      .first = [this, until = Deadline::after_s(settings_.connect_s)](
                   int number) { return connector_.accept_before(number, until); },
      .another = [this](int number,
                        double longest_s) { return connector_.accept_before(number, within(longest_s)); }};
}

RingNeighbour::Maker RingExchange::maker_after() const {
  return {
      .first = [this, until = Deadline::after_s(settings_.replace_s)](
                   int number) { return connector_.connect_after(number, until); },
      .another = [this](int number,
                        double longest_s) { return connector_.reconnect_after(number, within(longest_s)); }};
}

Deadline RingExchange::within(double longest_s) const {
  return Deadline::after_s(std::min(longest_s, settings_.replace_s));
}

/// With the connection that the stream has now, first or not: its maker may have made several.
void RingExchange::begin_before(int stream) {
  FtarStream& messages = *before_.stream(stream).messages;
  before_.stream(stream).receiver.emplace(messages, arithmetic_, settings_.wire);
  if (stream == 0) regions_before_.emplace(messages.bytes(), before_.name());
  for (const FtarMessage& message : ProgressReport::of(buckets_, before_.place(stream), settings_.checksum))
    messages.post(message);
}

void RingExchange::begin_after(int stream) {
  after_.stream(stream).report.emplace(after_.place(stream));
  if (stream == 0) sender_.share_over(after_.stream(stream).messages->bytes());
}

void RingExchange::add(std::unique_ptr<BucketExchange> bucket) {
  assert(!find(bucket->name()) && "a bucket of a step is started once");
  buckets_.push_back(std::move(bucket));
  BucketExchange& added = *buckets_.back();
  before_.post(grant_of(added, settings_.checksum));
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
  bool has_moved = after_.take_connections([this](int i) { begin_after(i); });
  has_moved |= before_.take_connections([this](int i) { begin_before(i); });
  has_moved |= after_.for_each([this](int i) { return serve_after(i); });
  has_moved |= before_.for_each([this](int i) { return serve_before(i); });
  has_moved |= send_chunks();
  has_moved |= before_.flush();
  has_moved |= after_.flush();
  throw_if_lost();
  return has_moved;
}

/// Who has all that it needs may leave before this rank has: a replica that changes epochs does.
void RingExchange::throw_if_lost() const {
  for (const RingNeighbour* neighbour : {&before_, &after_})
    if (neighbour->loss() && needs(*neighbour)) throw FtarError(*neighbour->loss());
}

bool RingExchange::needs(const RingNeighbour& neighbour) const {
  return std::any_of(buckets_.begin(), buckets_.end(), [&](const auto& bucket) {
    return &neighbour == &before_ ? !bucket->has_received_all() : !bucket->is_acknowledged();
  });
}

/// Who ends the exchange and names nobody is alive: it may have waited in vain for a replica that no exchange can tell of.
void RingExchange::end(RingNeighbour& neighbour, int stream, const FtarMessage& message) {
  const bool knows = message.bucket >= 0 && message.bucket < settings_.shape.ranks;
  if (knows)
    neighbour.end(stream, message.bucket, name_of(message.bucket));
  else
    neighbour.end(stream, FtarFailure::kNobody, "");
}

void RingExchange::fail(const FtarFailure& failure) {
  FtarMessage ends = message_about(Kind::ends, {});
  ends.bucket = failure.peer;
  before_.end_with(ends);
  after_.end_with(ends);
  // From here on neighbours take nothing more from this rank's memory (take_chunk).
  FtarFailure each = failure;
  for (const auto& bucket : std::exchange(buckets_, {})) {
    bucket->outcome().fail(each);
    each.is_cancelled = true;
  }
}

bool RingExchange::prepare_to_sleep(std::vector<pollfd>& polled) {
  return before_.prepare_to_sleep(polled) && after_.prepare_to_sleep(polled);
}

double RingExchange::next_departure_s() const {
  const double before_s = before_.next_departure_s(), after_s = after_.next_departure_s();
  return before_s == 0 || after_s == 0 ? std::max(before_s, after_s) : std::min(before_s, after_s);
}

void RingExchange::tell_alive() {
  before_.tell_alive();
  after_.tell_alive();
}

std::optional<int> RingExchange::silent_replica(double dead_s) const {
  const double since_s = kernels::steady_now_s() - dead_s;
  for (const RingNeighbour* neighbour : {&before_, &after_})
    if (neighbour->is_silent_since(since_s) && needs(*neighbour)) return neighbour->index();
  return std::nullopt;
}

void RingExchange::forgive(double pause_s) {
  before_.forgive(pause_s);
  after_.forgive(pause_s);
}

void RingExchange::seek_other_ways(double silence_s) {
  after_.seek_other_ways(kernels::steady_now_s() - silence_s, [this](const Connection& connection) {
    return connector_.has_other_way(connection);
  });
}

int RingExchange::awaited_replica() const {
  const BucketExchange& oldest = *buckets_.front();
  return oldest.is_granted() && !oldest.has_received_all() ? before_.index() : after_.index();
}

bool RingExchange::serve_before(int stream) {
  ChunkReceiver& receiver = *before_.stream(stream).receiver;
  if (receiver.is_busy()) {
    const bool has_moved = receiver.advance();
    if (receiver.is_complete()) finish_chunk(receiver.finish(), receiver.chunk());
    return has_moved;
  }
  const std::optional<FtarMessage> message = before_.stream(stream).messages->receive();
  if (!message) return false;
  if (message->kind == Kind::chunk)
    take_chunk(stream, *message);
  else if (message->kind == Kind::ends)
    end(before_, stream, *message);
  else if (message->kind != Kind::alive)
    throw_nonsense("another message than a chunk");
  return message->kind != Kind::alive;
}

void RingExchange::take_chunk(int stream, const FtarMessage& message) {
  BucketExchange* const bucket = find(name_in(message));
  const ChunkName chunk{message.turn, message.column};
  const bool is_next = bucket && chunk.column >= 0 && chunk.column < bucket->plan().columns() &&
                       before_.place(stream).carries(chunk.column) &&
                       bucket->next_to_receive(chunk.column) == chunk;
  if (!is_next) throw_nonsense("a chunk out of turn");
  const Tensor result = bucket->result(chunk);
  ChunkReceiver& receiver = *before_.stream(stream).receiver;
  if (message.region != FtarMessage::kNoRegion && bucket->has_data() && message.payload_bytes == 0) {
    const std::byte* values = regions_before_->at({message.region, message.offset}, result.bytes());
    receiver.read_in_place(*bucket, chunk, values);
    receiver.finish();
    // A rank ends its connections before it lets go of its memory: while they stand, what was read was whole.
    before_.stream(stream).messages->connection().check();
    return finish_chunk(*bucket, chunk);
  }
  if (message.payload_bytes != (bucket->has_data() ? wire_bytes(settings_.wire, result) : 0))
    throw_nonsense("a chunk of another size");
  if (bucket->has_data()) return receiver.begin(*bucket, chunk);
  finish_chunk(*bucket, chunk);
}

void RingExchange::finish_chunk(BucketExchange& bucket, const ChunkName& chunk) {
  bucket.count_received(chunk);
  if (!bucket.has_received_all()) return;
  before_.post(message_about(Kind::ack, bucket.name()));
  complete_if_done(bucket);
}

bool RingExchange::serve_after(int stream) {
  const std::optional<FtarMessage> message = after_.stream(stream).messages->receive();
  if (!message) return false;
  switch (message->kind) {
    case Kind::ends:
      end(after_, stream, *message);
      break;
    case Kind::grant:
      take_grant(*message);
      break;
    case Kind::ack:
      take_acknowledgement(*message);
      break;
    case Kind::has:
    case Kind::complete:
      take_report(stream, *message);
      break;
    case Kind::alive:
      return false;
    default:
      throw_nonsense("another message than a grant or an acknowledgement");
  }
  return true;
}

void RingExchange::take_report(int stream, const FtarMessage& message) {
  std::optional<ProgressReport>& report = after_.stream(stream).report;
  if (!report) throw_nonsense("a report that nobody waits for");
  if (message.kind == Kind::has) return report->take(message);
  if (!report->apply(buckets_)) throw_nonsense("a report of what it has not got");
  report.reset();
  for (std::size_t i = buckets_.size(); i-- > 0;) complete_if_done(*buckets_[i]);
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
         .peer = after_.index(),
         .sentence = after_.name() +
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

/// Not while a stream has no connection: its chunks would be lost. It does not take long.
bool RingExchange::send_chunks() {
  bool has_sent = false;
  if (!after_.is_whole()) return has_sent;
  for (const auto& bucket : buckets_)
    while (after_.queued() < static_cast<std::size_t>(settings_.shape.chunks_in_flight)) {
      const std::optional<ChunkName> chunk = bucket->next_to_send();
      if (!chunk) break;
      send(*bucket, *chunk);
      has_sent = true;
    }
  return has_sent;
}

void RingExchange::send(BucketExchange& bucket, const ChunkName& chunk) {
  FtarStream& stream = *after_.stream(chunk.column % after_.streams()).messages;
  stream.post(sender_.outgoing(bucket, chunk, stream));
  bucket.count_sent(chunk);
  if (bucket.has_sent_all()) bucket.left(kernels::steady_now_s());
}

}  // namespace tenax::comm
