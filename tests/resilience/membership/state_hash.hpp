// StateHash: one number for all that the membership machines show of themselves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "resilience/membership/membership_member.hpp"
#include "resilience/membership/membership_service.hpp"
#include "resilience/membership/message_fields.hpp"

namespace tenax::resilience {

/// The finalizer of splitmix64.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Machines are walked through show(), messages through visit_fields(), containers element by element.
class StateHash {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (add(values), ...);
  }
  std::uint64_t value() const { return hash_; }

 private:
  template <class Value>
  void add(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
      word(static_cast<std::uint64_t>(value));
    else if constexpr (requires { value.show(*this); })
      value.show(*this);
    else
      add_fields(value);
  }
  void add(const std::string& text) {
    word(text.size());
    for (const char c : text) word(static_cast<unsigned char>(c));
  }
  template <class Value>
  void add(const std::vector<Value>& values) {
    add_all(values);
  }
  template <class Value>
  void add(const std::deque<Value>& values) {
    add_all(values);
  }
  template <class Value>
  void add(const std::set<Value>& values) {
    add_all(values);
  }
  template <class Key, class Value>
  void add(const std::map<Key, Value>& values) {
    add_all(values);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class Value>
  void add(const std::optional<Value>& value) {
    word(value.has_value());
    if (value) add(*value);
  }
  template <class... Kinds>
  void add(const std::variant<Kinds...>& value) {
    word(value.index());
    std::visit([this](const auto& known) { add(known); }, value);
  }
  void add(const Seat& seat) {
    (*this)(seat.peer, seat.id, seat.data, seat.done, seat.next_sample, seat.epoch, seat.step,
            seat.needs_change, seat.is_restoring, seat.is_behind, seat.leaves);
  }
  void add(const EpochRecord::Member& member) { add(member.id); }
  void add(const EpochRecord& record) {
    (*this)(record.epoch, record.from_step, record.members, record.reason);
  }
  void add(const VoidRecord& record) { (*this)(record.void_from, record.epoch); }
  void add(const CommitRecord& record) {
    (*this)(record.step, record.epoch, record.first_sample, record.parts, record.squares);
  }
  void add(const StateEvidence& evidence) { (*this)(evidence.squares); }  // these machines have no digests
  void add(const Commit& commit) { add(commit.record); }
  void add(const Epoch& epoch) {
    (*this)(epoch.number, epoch.from_step, epoch.first_sample, epoch.members, epoch.parts, epoch.writer,
            epoch.reason);
  }
  void add(const MemberPlan& plan) { (*this)(plan.action, plan.status); }

  template <class Values>
  void add_all(const Values& values) {
    word(values.size());
    for (const auto& value : values) add(value);
  }
  /// A message, through the names of its fields.
  template <class Message>
  void add_fields(const Message& message) {
    auto field = [this](const char* /*name*/, const auto& value) { add(value); };
    visit_fields(field, const_cast<Message&>(message));
  }
  void word(std::uint64_t value) { hash_ = mix(hash_ * 31 + value + 0x9E3779B97F4A7C15); }

  std::uint64_t hash_ = 0;
};

}  // namespace tenax::resilience
