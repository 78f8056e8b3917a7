#include "resilience/replicas/membership_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "comm/messages/message_client.hpp"
#include "resilience/membership/message_text.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {
namespace {

using kernels::Deadline;

/// Takes no epoch while it is away, as etcd does while its members elect one.
class FakeStore final : public RecordStore {
 public:
  bool append(const std::vector<Record>& records) override {
    for (const Record& record : records)
      if (is_away && std::holds_alternative<EpochRecord>(record)) return false;
    return true;
  }
  void sync() override {}
  std::vector<Record> load() override { return {}; }

  std::atomic<bool> is_away = false;
};

/// A replica that computes nothing, and answers at once.
class Member {
 public:
  Member(ReplicaId id, const MembershipServer& server)
      : client_({.secret = comm::one_job(),
                 .addresses = server.addresses(),
                 .purpose = "replica." + std::to_string(id.replica),
                 .deadline = Deadline::after_s(20)}) {
    say(CheckIn{.id = id, .build = "b", .deck = "d", .host = "h"});
  }

  /// Beats once, and answers what has come.
  void live() {
    say(Beat{.epoch = epoch_.number});
    while (const auto text = client_.receive(Deadline::after_s(0.01)))
      std::visit([this](const auto& message) { answer(message); }, parse_service_message(*text));
  }
  std::size_t members() const { return epoch_.members.size(); }

 private:
  void say(const MemberMessage& message) { client_.send(to_text(message)); }
  void answer(const Restore&) {
    done_ = 0;
    say(Restored{});
  }
  void answer(const Freeze& freeze) { report(freeze.change); }
  void answer(const Hold& hold) { report(hold.change); }
  void answer(const NewEpoch& epoch) { epoch_ = epoch.epoch; }
  template <class Message>
  void answer(const Message&) {}
  void report(std::int64_t change) { say(Report{.change = change, .epoch = epoch_.number, .done = done_}); }

  comm::MessageClient client_;
  Epoch epoch_;
  std::int64_t done_ = -1;
};

class MembershipServerTest : public testing::Test {
 protected:
  static constexpr double kDead_s = 1;

  static MembershipOptions membership() {
    MembershipOptions options;
    options.replicas = 2;
    options.build = "b";
    options.deck = "d";
    options.samples = {.global_batch = 4, .replicas = 2};
    options.train_steps = 100;
    options.dead_s = kDead_s;
    return options;
  }
  /// Of a replica's start.
  int losses(ReplicaId id) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count(lost_.begin(), lost_.end(), id));
  }

  FakeStore store_;
  mutable std::mutex mutex_;
  std::vector<ReplicaId> lost_;
  MembershipServer server_{{.membership = membership(),
                            .messages = {.secret = comm::one_job(), .listen = {}, .interfaces = {"lo"}},
                            .heartbeat_s = 0.02},
                           store_,
                           {},
                           {[](const Record&) {},
                            [this](const ServiceEvent& event) {
                              const std::lock_guard lock(mutex_);
                              if (const auto* lost = std::get_if<ReplicaLost>(&event))
                                lost_.push_back(lost->id);
                            }}};
};

// The question to the survivor waits behind an epoch that is not stored yet: it is not late.
TEST_F(MembershipServerTest, loses_nobody_whom_it_cannot_ask_while_the_store_is_away) {
  Member survivor({0, 1}, server_);
  std::optional<Member> other(std::in_place, ReplicaId{1, 1}, server_);
  const auto live = [&](double seconds, const auto& until) {
    for (const Deadline end = Deadline::after_s(seconds); !end.expired() && !until();) {
      survivor.live();
      if (other) other->live();
    }
  };
  const auto never = [] { return false; };
  live(20, [&] { return survivor.members() == 2; });
  other.reset();
  live(20, [&] { return survivor.members() == 1; });
  store_.is_away = true;
  other.emplace(ReplicaId{1, 2}, server_);
  live(kDead_s, never);  // an epoch of both is decided
  other.reset();
  live(3 * kDead_s, never);
  store_.is_away = false;
  other.emplace(ReplicaId{1, 3}, server_);
  live(20, [&] { return other->members() == 2; });
  EXPECT_EQ(survivor.members(), 2u);
  EXPECT_EQ(losses({1, 2}), 1);
  EXPECT_EQ(losses({0, 1}), 0);
}

}  // namespace
}  // namespace tenax::resilience
