// The names of all fields of messages, once for the writer and the reader of their text.
// `visit_fields(fields, message)` calls `fields(name, member)` for each member of a message.
#pragma once

#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/service_messages.hpp"

namespace tenax::resilience {

template <class Fields>
void visit_fields(Fields& fields, ReplicaId& id) {
  fields("replica", id.replica);
  fields("incarnation", id.incarnation);
}

template <class Fields>
void visit_fields(Fields& fields, Part& part) {
  fields("replica", part.replica);
  fields("first", part.first);
  fields("count", part.count);
}

template <class Fields>
void visit_fields(Fields& fields, MemberTimes& times) {
  fields("replica", times.replica);
  fields("iteration_s", times.iteration_s);
  fields("exchange_s", times.exchange_s);
}

template <class Fields>
void visit_fields(Fields& fields, EpochMember& member) {
  visit_fields(fields, member.id);
  fields("host", member.host);
  fields("addresses", member.addresses);
  fields("state_addresses", member.state_addresses);
  fields("is_behind", member.is_behind);
}

template <class Fields>
void visit_fields(Fields& fields, CheckIn& message) {
  visit_fields(fields, message.id);
  fields("build", message.build);
  fields("deck", message.deck);
  fields("data", message.data);
  fields("loops", message.loops);
  fields("host", message.host);
  fields("addresses", message.addresses);
  fields("state_addresses", message.state_addresses);
  fields("done", message.done);
  fields("next_sample", message.next_sample);
  fields("epoch", message.epoch);
  fields("needs_change", message.needs_change);
  fields("stops", message.stops);
  fields("is_writer", message.is_writer);
}

template <class Fields>
void visit_fields(Fields& fields, Beat& message) {
  fields("epoch", message.epoch);
  fields("step", message.step);
  fields("phase", message.phase);
}

template <class Fields>
void visit_fields(Fields& fields, Report& message) {
  fields("change", message.change);
  fields("epoch", message.epoch);
  fields("done", message.done);
  fields("next_sample", message.next_sample);
  fields("has_begun", message.has_begun);
  fields("parts", message.parts);
}

template <class Fields>
void visit_fields(Fields& fields, HoldMissed& message) {
  fields("change", message.change);
  fields("step", message.step);
}

template <class Fields>
void visit_fields(Fields& fields, Commit& message) {
  fields("time", message.record.time);
  fields("step", message.record.step);
  fields("epoch", message.record.epoch);
  fields("first_sample", message.record.first_sample);
  fields("parts", message.record.parts);
  fields("loss", message.record.loss);
  fields("grad_norm", message.record.grad_norm);
  fields("lr", message.record.lr);
  fields("squares", message.record.squares);
  fields("sums", message.record.sums.sum);
  fields("placed_sums", message.record.sums.placed);
  fields("digest", message.record.digest);
  fields("iteration_s", message.record.iteration_s);
  fields("members", message.record.members);
  fields("is_masked", message.record.is_masked);
  fields("is_crowded", message.record.is_crowded);
}

template <class Fields>
void visit_fields(Fields& fields, Suspect& message) {
  fields("epoch", message.epoch);
  fields("replica", message.replica);
  fields("why", message.why);
}

template <class Fields>
void visit_fields(Fields& fields, Accuse& message) {
  fields("epoch", message.epoch);
  fields("replica", message.accusation.replica);
  fields("by", message.accusation.by);
  fields("right", message.accusation.right.sum);
  fields("placed_right", message.accusation.right.placed);
  fields("wrong", message.accusation.wrong.sum);
  fields("placed_wrong", message.accusation.wrong.placed);
}

template <class Fields>
void visit_fields(Fields& fields, Restored& message) {
  fields("done", message.done);
  fields("next_sample", message.next_sample);
}

template <class Fields>
void visit_fields(Fields& fields, Saved& message) {
  fields("done", message.done);
  fields("bytes", message.bytes);
  fields("seconds", message.seconds);
  fields("failure", message.failure);
  fields("is_final", message.is_final);
}

template <class Fields>
void visit_fields(Fields& fields, Validated& message) {
  fields("done", message.done);
  fields("loss", message.loss);
  fields("seconds", message.seconds);
}

template <class Fields>
void visit_fields(Fields& fields, Joined& message) {
  fields("epoch", message.epoch);
  fields("state_s", message.state_s);
  fields("held_s", message.held_s);
  fields("bytes", message.bytes);
  fields("sources", message.sources);
}

template <class Fields>
void visit_fields(Fields& fields, RankLost& message) {
  fields("rank", message.rank);
  fields("host", message.host);
  fields("silent_s", message.silent_s);
  fields("is_gone", message.is_gone);
}

template <class Fields>
void visit_fields(Fields& fields, Observed& message) {
  fields("number", message.number);
  fields("event", message.event);
  fields("step", message.step);
  fields("details", message.details);
}

template <class Fields>
void visit_fields(Fields& fields, SpareReady& message) {
  fields("spare", message.spare);
}

template <class Fields>
void visit_fields(Fields& fields, ServiceMissed& message) {
  fields("seconds", message.seconds);
}

template <class Fields>
void visit_fields(Fields& /*fields*/, StopWish& /*message*/) {}
template <class Fields>
void visit_fields(Fields& /*fields*/, Leave& /*message*/) {}
template <class Fields>
void visit_fields(Fields& /*fields*/, Restore& /*message*/) {}
template <class Fields>
void visit_fields(Fields& /*fields*/, Ended& /*message*/) {}

template <class Fields>
void visit_fields(Fields& fields, Refused& message) {
  fields("reason", message.reason);
}

template <class Fields>
void visit_fields(Fields& fields, Freeze& message) {
  fields("change", message.change);
  fields("epoch", message.epoch);
}

template <class Fields>
void visit_fields(Fields& fields, Hold& message) {
  fields("change", message.change);
  fields("epoch", message.epoch);
  fields("step", message.step);
}

template <class Fields>
void visit_fields(Fields& fields, Resume& message) {
  fields("change", message.change);
}

template <class Fields>
void visit_fields(Fields& fields, NewEpoch& message) {
  fields("number", message.epoch.number);
  fields("from_step", message.epoch.from_step);
  fields("first_sample", message.epoch.first_sample);
  fields("members", message.epoch.members);
  fields("parts", message.epoch.parts);
  fields("writer", message.epoch.writer);
  fields("reason", message.epoch.reason);
}

template <class Fields>
void visit_fields(Fields& fields, CommitAck& message) {
  fields("done", message.done);
  fields("stops", message.stops);
}

template <class Fields>
void visit_fields(Fields& fields, ValidationAck& message) {
  fields("done", message.done);
}

template <class Fields>
void visit_fields(Fields& fields, JoinAck& message) {
  fields("epoch", message.epoch);
}

template <class Fields>
void visit_fields(Fields& fields, ObservationAck& message) {
  fields("number", message.number);
}

template <class Fields>
void visit_fields(Fields& fields, StopAt& message) {
  fields("done", message.done);
  fields("writer", message.writer);
}

template <class Fields>
void visit_fields(Fields& fields, TakePlace& message) {
  visit_fields(fields, message.id);
}

template <class Fields>
void visit_fields(Fields& fields, Evicted& message) {
  fields("reason", message.reason);
}

}  // namespace tenax::resilience
