#include "resilience/etcd/etcd_store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "io/run/seized_run.hpp"
#include "kernels/deadline.hpp"
#include "tests/resilience/etcd/made_up_etcd.hpp"

namespace tenax::resilience::test {
namespace {

namespace fs = std::filesystem;
using kernels::Error;

class EtcdStores : public ::testing::Test {
 protected:
  EtcdStores() : directory_(fs::temp_directory_path() / ("tenax-etcd-" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~EtcdStores() override { fs::remove_all(directory_); }

  /// In charge of the run in `directory_`.
  struct Supervisor {
    Supervisor(EtcdStores& test, const std::string& id)
        : http(test.etcd_, test.mutex_),
          client({.endpoints = {"http://a:1"}, .user = {}, .password = {}}, http),
          lease({.keys = RunKeys("run"), .claim = {.host = "h", .pid = 1, .run_directory = "/r", .id = id}},
                client) {
      EXPECT_TRUE(lease.campaign());
      ledger.emplace(test.directory_);
      store.emplace(lease, *ledger);
      loaded = store->load();
    }
    SharedEtcd http;
    EtcdClient client;
    RunLease lease;
    std::optional<LedgerStore> ledger;
    std::optional<EtcdStore> store;
    std::vector<Record> loaded;
  };

  static Record epoch(std::int64_t number, std::int64_t from_step) {
    return EpochRecord{.time = 1, .epoch = number, .from_step = from_step, .members = {{{0, 1}, "h"}}};
  }
  static Record commit(std::int64_t step, std::int64_t in_epoch) {
    return CommitRecord{
        .time = 2, .step = step, .epoch = in_epoch, .first_sample = 8 * step, .parts = {{0, 8 * step, 8}}};
  }
  static bool append(EtcdStore& store, const std::vector<Record>& records, double seconds = 10) {
    const auto deadline = kernels::Deadline::after_s(seconds);
    while (!store.append(records)) {
      if (deadline.expired()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  std::string stored(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return etcd_.value("run/" + key);
  }
  template <class Condition>
  static bool comes_true(Condition condition) {
    const auto deadline = kernels::Deadline::after_s(20);
    while (!condition())
      if (deadline.expired())
        return false;
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return true;
  }
  void end_leases() {
    const std::lock_guard lock(mutex_);
    etcd_.end_leases();
  }

  fs::path directory_;
  MadeUpEtcd etcd_;
  std::mutex mutex_;
};

TEST_F(EtcdStores, have_each_epoch_and_within_a_second_the_head) {
  Supervisor only(*this, "1");
  EXPECT_TRUE(append(*only.store, {epoch(1, 0)}));
  EXPECT_EQ(stored("epoch"), "1");
  EXPECT_NE(stored("epochs/000000000001").find("\"from_step\": 0"), std::string::npos);
  EXPECT_TRUE(append(*only.store, {commit(0, 1), commit(1, 1)}));
  EXPECT_TRUE(comes_true([&] { return stored("head") == R"({"step": 2, "next_sample": 16})"; }));
  only.store->set_service({"tcp:h:1", "tcp:h:2"});
  only.store->set_replicas("[1]");
  EXPECT_TRUE(comes_true(
      [&] { return stored("service") == R"(["tcp:h:1", "tcp:h:2"])" && stored("replicas") == "[1]"; }));
}

TEST_F(EtcdStores, forget_an_older_ledger_where_the_same_supervisor_begins_a_new_one) {
  Supervisor only(*this, "1");
  EXPECT_TRUE(append(*only.store, {epoch(1, 0), commit(0, 1), epoch(2, 1)}));
  only.store.reset();
  only.ledger.reset();
  EXPECT_TRUE(io::set_ledger_aside(directory_));
  only.ledger.emplace(directory_);
  only.store.emplace(only.lease, *only.ledger);
  EXPECT_TRUE(only.store->load().empty());
  EXPECT_EQ(stored("epoch"), "0");
  EXPECT_EQ(stored("epochs/000000000002"), "");
  EXPECT_TRUE(append(*only.store, {epoch(1, 30), commit(30, 1)}));
  EXPECT_EQ(stored("epoch"), "1");
  EXPECT_FALSE(only.store->is_deposed());
}

TEST_F(EtcdStores, record_steps_while_etcd_is_away_and_epochs_when_it_answers_again) {
  Supervisor only(*this, "1");
  EXPECT_TRUE(append(*only.store, {epoch(1, 0)}));
  {
    const std::lock_guard lock(mutex_);
    only.http.is_cut = true;
  }
  EXPECT_TRUE(append(*only.store, {commit(0, 1)}, 0));
  EXPECT_FALSE(append(*only.store, {epoch(2, 1), commit(1, 2)}, 0.5));
  std::optional<std::string> notice;
  EXPECT_TRUE(comes_true([&] { return (notice = only.store->take_notice()).has_value(); }));
  EXPECT_NE(notice->find("cannot be reached: cut; training goes on"), std::string::npos) << *notice;
  {
    const std::lock_guard lock(mutex_);
    only.http.is_cut = false;
  }
  EXPECT_TRUE(append(*only.store, {epoch(2, 1), commit(1, 2)}));
  EXPECT_EQ(stored("epoch"), "2");
  EXPECT_TRUE(comes_true([&] { return only.store->take_notice() == "etcd at a:1 answers again"; }));
}

TEST_F(EtcdStores, write_no_epoch_twice_though_a_reply_was_lost) {
  Supervisor only(*this, "1");
  {
    const std::lock_guard lock(mutex_);
    etcd_.lost_replies["/v3/kv/txn"] = 1;
  }
  EXPECT_TRUE(append(*only.store, {epoch(1, 0)}));
  EXPECT_TRUE(append(*only.store, {epoch(2, 0)}));
  EXPECT_EQ(stored("epoch"), "2");
}

TEST_F(EtcdStores, of_a_supervisor_that_was_cut_off_write_no_epoch_after_another_has_taken_charge) {
  Supervisor first(*this, "1");
  EXPECT_TRUE(append(*first.store, {epoch(1, 0)}));
  {
    const std::lock_guard lock(mutex_);
    first.http.is_cut = true;
    etcd_.end_leases();
  }
  io::seize_run(directory_, directory_);
  Supervisor second(*this, "2");
  EXPECT_EQ(second.loaded.size(), 1u);
  EXPECT_THROW(append(*first.store, {commit(0, 1)}), Error) << "its ledger was taken away";
  EXPECT_TRUE(append(*second.store, {commit(0, 1), epoch(2, 1)}));
  {
    const std::lock_guard lock(mutex_);
    first.http.is_cut = false;
  }
  EXPECT_THROW(append(*first.store, {epoch(2, 0)}), Error);
  EXPECT_TRUE(first.store->is_deposed());
  EXPECT_FALSE(second.store->is_deposed());
  EXPECT_NE(stored("epochs/000000000002").find("\"from_step\": 1"), std::string::npos);
}

TEST_F(EtcdStores, take_charge_again_after_a_lease_that_nobody_else_has_used) {
  Supervisor only(*this, "1");
  EXPECT_TRUE(append(*only.store, {epoch(1, 0)}));
  end_leases();
  EXPECT_TRUE(append(*only.store, {epoch(2, 0)}));
  EXPECT_EQ(stored("epoch"), "2");
  EXPECT_FALSE(only.store->is_deposed());
}

TEST_F(EtcdStores, give_a_ledger_the_epochs_that_it_has_lost) {
  {
    Supervisor first(*this, "1");
    EXPECT_TRUE(append(*first.store, {epoch(1, 0), epoch(2, 0)}));
    first.store->release({.host = "h", .reason = "signal", .status = 0});
  }
  fs::path ledger = directory_ / "ledger.jsonl";
  fs::resize_file(ledger, fs::file_size(ledger) - 5);  // a torn last line
  Supervisor second(*this, "2");
  ASSERT_EQ(second.loaded.size(), 2u);
  EXPECT_EQ(std::get<EpochRecord>(second.loaded[1]).epoch, 2);
  EXPECT_TRUE(append(*second.store, {commit(0, 2)}));
}

TEST_F(EtcdStores, begin_anew_with_an_empty_ledger) {
  {
    Supervisor first(*this, "1");
    EXPECT_TRUE(append(*first.store, {epoch(1, 0), epoch(2, 0)}));
  }
  fs::remove(directory_ / "ledger.jsonl");
  end_leases();
  Supervisor second(*this, "2");
  EXPECT_TRUE(second.loaded.empty());
  EXPECT_EQ(stored("epoch"), "0");
  EXPECT_EQ(stored("epochs/000000000001"), "");
  EXPECT_TRUE(append(*second.store, {epoch(1, 0)}));
}

}  // namespace
}  // namespace tenax::resilience::test
