#include "io/run/audit.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "io/run/ledger_audit.hpp"
#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::io::test {
namespace {

class Audit : public testing::Test {
 protected:
  Audit() {
    write_ledger(folder, eventful_run());
    folder.write("metrics.jsonl", metrics_of_eventful_run());
  }
  AuditReport report() const { return audit_run(folder.path(), checkpoints, kSeqLength); }
  /// What is wrong, after the file's name.
  std::string contradiction() const {
    const std::string text = report().contradiction, path = folder.path().string() + "/";
    return text.starts_with(path) ? text.substr(path.size()) : text;
  }
  void expect_contradiction(const std::vector<LedgerRecord>& records, const std::string& begin) {
    write_ledger(folder, records);
    EXPECT_EQ(contradiction().substr(0, begin.size()), begin);
  }

  TemporaryFolder folder;
  std::vector<AuditedCheckpoint> checkpoints = {{"step-000003.h5", 3, 24}, {"step-000006.h5", 6, 48}};
};

TEST_F(Audit, finds_nothing_in_a_run_with_a_loss_a_rejoin_and_a_void) {
  const AuditReport clean = report();
  EXPECT_EQ(clean.contradiction, "");
  EXPECT_TRUE(clean.is_clean());
  EXPECT_EQ(clean.steps, 6);
  EXPECT_EQ(clean.samples, 48);
  EXPECT_EQ(clean.voids, 1);
  EXPECT_EQ(clean.epochs, 4);
  EXPECT_EQ(clean.replicas_lost, 1);
}

TEST_F(Audit, counts_replicas_that_were_lost_together_and_none_that_were_stopped) {
  const std::vector<LedgerRecord> records = {
      epoch_of(1, 0, "start", {{0, 1, "a"}, {1, 1, "b"}}), commit_of(0, 1, {{0, 0, 8}}),
      epoch_of(2, 1, "start", {{0, 2, "a"}, {1, 2, "b"}}), commit_of(1, 2, {{0, 8, 8}}),
      epoch_of(3, 2, "start", {{0, 3, "a"}, {1, 3, "b"}})};
  folder.write("metrics.jsonl", line_of_commit(std::get<LedgerCommit>(records[1].what), 1) +
                                    line_of_commit(std::get<LedgerCommit>(records[3].what), 1));
  checkpoints.clear();
  expect_contradiction(records, "");
  EXPECT_EQ(report().replicas_lost, 0);
  const auto lost = [](int replica, int incarnation, const std::string& reason) {
    return "{\"event\": \"replica_lost\", \"replica\": " + std::to_string(replica) +
           ", \"incarnation\": " + std::to_string(incarnation) + ", \"reason\": \"" + reason + "\"}\n";
  };
  folder.write("events.jsonl", lost(0, 1, "corrupt") + lost(1, 1, "corrupt") + lost(1, 3, "connection") +
                                   lost(1, 3, "given_up"));
  EXPECT_EQ(report().replicas_lost, 3);
}

TEST_F(Audit, takes_a_void_line_also_behind_the_line_of_its_epoch) {
  std::vector<LedgerRecord> records = eventful_run();
  std::swap(records[8], records[9]);
  expect_contradiction(records, "");
}

TEST_F(Audit, takes_parts_of_any_length_as_a_batch_that_shrinks_has_them) {
  const std::vector<LedgerRecord> records = {
      epoch_of(1, 0, "start", {{0, 1, "a"}, {1, 1, "b"}}), commit_of(0, 1, {{0, 0, 4}, {1, 4, 4}}),
      epoch_of(2, 1, "lost", {{0, 1, "a"}}), commit_of(1, 2, {{0, 8, 4}}),
      epoch_of(3, 2, "leave", {{0, 1, "a"}})};
  folder.write("metrics.jsonl", line_of_commit(std::get<LedgerCommit>(records[1].what), 2) +
                                    line_of_commit(std::get<LedgerCommit>(records[3].what), 1));
  checkpoints = {{"c", 2, 12}};
  expect_contradiction(records, "ledger.jsonl:5: epoch 3 has reason \"leave\", but all members");
  expect_contradiction({records.begin(), records.end() - 1}, "");
}

TEST_F(Audit, begins_with_any_step_where_steps_before_had_no_ledger) {
  const std::vector<LedgerRecord> records = {epoch_of(1, 100, "start", {{0, 1, "a"}}),
                                             commit_of(100, 1, {{0, 800, 8}}),
                                             commit_of(101, 1, {{0, 808, 8}})};
  const auto commit = [&](std::size_t i) { return std::get<LedgerCommit>(records[i].what); };
  folder.write("metrics.jsonl",
               "{\"step\": 99, \"loss\": 3}\n" + line_of_commit(commit(1), 1) + line_of_commit(commit(2), 1));
  checkpoints = {{"old", 50, 7}, {"step-000100.h5", 100, 800}};
  expect_contradiction(records, "");
  EXPECT_EQ(report().steps, 2);
  checkpoints.back().next_sample = 792;
  EXPECT_EQ(contradiction(),
            "step-000100.h5 goes on with sample 792, but after step 99 sample 800 is the next");
}

/// One supervisor commits steps, each to the ledger first, while another process audits.
TEST_F(Audit, finds_nothing_in_a_run_that_goes_on) {
  constexpr int kSteps = 500;
  const TemporaryFolder live;
  LedgerWriter ledger(live.path());
  ledger.append(epoch_of(1, 0, "start", {{0, 1, "a"}}));
  std::atomic<bool> has_ended = false;
  std::jthread run([&] {
    MetricsWriter metrics(live.path(), 0);
    for (int step = 0; step < kSteps; ++step) {
      const LedgerRecord record = commit_of(step, 1, {{0, 8 * step, 8}});
      ledger.append(record);
      metrics.training(metrics_of(std::get<LedgerCommit>(record.what), 1));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    has_ended = true;
  });
  while (!has_ended) ASSERT_EQ(audit_run(live.path(), {}, kSeqLength).contradiction, "");
  EXPECT_EQ(audit_run(live.path(), {}, kSeqLength).steps, kSteps);
}

TEST_F(Audit, has_nothing_to_go_by_without_a_whole_ledger) {
  folder.write("ledger.jsonl", "");
  EXPECT_EQ(contradiction(), "ledger.jsonl: the ledger is empty");
  write_ledger(folder, eventful_run());
  const std::string text = folder.read("ledger.jsonl");
  folder.write("ledger.jsonl", text.substr(0, text.size() - 5));
  EXPECT_EQ(contradiction(), "ledger.jsonl:13: the line is cut off");
  EXPECT_EQ(report().steps, 5);
  std::filesystem::remove(ledger_of_run(folder.path()));
  EXPECT_TRUE(contradiction().starts_with("cannot read ")) << contradiction();
}

TEST_F(Audit, finds_each_way_in_which_epochs_and_commits_contradict_each_other) {
  const LedgerRecord first = epoch_of(1, 0, "start", {{0, 1, "a"}, {1, 1, "b"}});
  const LedgerRecord step0 = commit_of(0, 1, {{0, 0, 4}, {1, 4, 4}});
  const std::string at2 = "ledger.jsonl:2: ", at3 = "ledger.jsonl:3: ", at4 = "ledger.jsonl:4: ";
  expect_contradiction({step0}, "ledger.jsonl:1: step 0 is committed before the first epoch");
  expect_contradiction({epoch_of(2, 0, "start", {{0, 1, "a"}})}, "ledger.jsonl:1: epoch 2 should be epoch 1");
  expect_contradiction({epoch_of(1, 0, "join", {{0, 1, "a"}})},
                       "ledger.jsonl:1: the first epoch has reason \"join\"");
  expect_contradiction({epoch_of(1, 0, "start", {{0, 1, "a"}, {0, 2, "b"}})},
                       "ledger.jsonl:1: replica 0 is a member of epoch 1 twice");
  expect_contradiction({first, commit_of(1, 1, {{0, 0, 8}})},
                       at2 + "step 1 is committed, but step 0 is the next");
  expect_contradiction({first, step0, step0}, at3 + "step 0 is committed, but step 1 is the next");
  expect_contradiction({first, commit_of(0, 2, {{0, 0, 8}})},
                       at2 + "step 0 is committed in epoch 2, but epoch 1");
  expect_contradiction({first, commit_of(0, 1, {{0, 4, 8}})},
                       at2 + "step 0 begins with sample 4, but sample 0");
  expect_contradiction({first, step0, commit_of(1, 1, {{0, 7, 8}})}, at3 + "step 1 begins with sample 7");
  expect_contradiction({first, commit_of(0, 1, {{0, 0, 4}, {1, 5, 4}})},
                       at2 + "its parts do not tile its samples: sample 4 is in none");
  expect_contradiction({first, commit_of(0, 1, {{0, 0, 4}, {1, 3, 4}})},
                       at2 + "its parts do not tile its samples: sample 3 is in two");
  expect_contradiction({first, commit_of(0, 1, {{0, 0, 8}, {1, 8, 0}})},
                       at2 + "a part of replica 1 has no samples");
  LedgerRecord miscounted = step0;
  std::get<LedgerCommit>(miscounted.what).samples = 9;
  expect_contradiction({first, miscounted}, at2 + "its parts have 8 samples, but samples = 9");
  expect_contradiction({first, commit_of(0, 1, {{2, 0, 8}})},
                       at2 + "step 0 has samples of replica 2, which is no member");
  expect_contradiction({first, epoch_of(2, 1, "lost", {{0, 1, "a"}})},
                       at2 + "epoch 2 begins with step 1, but step 0 is the next");
  expect_contradiction({first, epoch_of(3, 0, "lost", {{0, 1, "a"}})}, at2 + "epoch 3 should be epoch 2");
  expect_contradiction({first, step0, epoch_of(2, 1, "join", {{0, 1, "a"}})},
                       at3 + "epoch 2 has reason \"join\", but no new member");
  expect_contradiction({first, step0, epoch_of(2, 1, "lost", {{0, 1, "a"}, {1, 0, "b"}})},
                       at3 + "replica 1 is a member with incarnation 0, after incarnation 1");
  expect_contradiction(
      {first, step0, epoch_of(2, 1, "lost", {{0, 1, "a"}}), commit_of(1, 2, {{0, 8, 4}, {1, 12, 4}})},
      at4 + "step 1 has samples of replica 1, which is no member of epoch 2");
  expect_contradiction({first, step0, epoch_of(2, 1, "lost", {{0, 1, "a"}, {1, 2, "b"}}),
                        commit_of(1, 2, {{0, 8, 4}, {1, 12, 4}})},
                       at4 + "step 1 has samples of replica 1, which joined with that step");
}

TEST_F(Audit, finds_each_way_in_which_voids_contradict_the_rest) {
  const LedgerRecord first = epoch_of(1, 0, "start", {{0, 1, "a"}});
  const LedgerRecord step0 = commit_of(0, 1, {{0, 0, 8}});
  expect_contradiction({first, step0, void_of(2, 2)},
                       "ledger.jsonl:3: steps are void from step 2, but step 1");
  expect_contradiction({first, step0, void_of(0, 3)},
                       "ledger.jsonl:3: a void line of epoch 3 stands after epoch 1");
  expect_contradiction({first, step0, void_of(0, 2), step0},
                       "ledger.jsonl:4: step 0 is committed in epoch 1 after a void line of epoch 2");
  const LedgerRecord again = epoch_of(2, 0, "start", {{0, 2, "a"}});
  expect_contradiction({first, step0, void_of(0, 2), again, commit_of(0, 2, {{0, 8, 8}})},
                       "ledger.jsonl:5: step 0 begins with sample 8, but sample 0 is the next");
}

TEST_F(Audit, finds_metrics_that_say_something_else_than_the_ledger) {
  const std::string metrics = metrics_of_eventful_run();
  const auto said = [&](const std::string& from, const std::string& to) {
    folder.write("metrics.jsonl", replaced(metrics, from, to));
    return contradiction();
  };
  EXPECT_EQ(said("\"step\": 3", "\"step\": 4"), "metrics.jsonl has step 4 where step 3 is the next");
  EXPECT_EQ(said("\"loss\": 5.5", "\"loss\": 5.25"),
            "metrics.jsonl says of step 0 loss = 5.25, the ledger 5.5");
  EXPECT_EQ(said("\"loss\": 5.5", "\"loss\": null"),
            "metrics.jsonl says of step 0 loss = null, the ledger 5.5");
  EXPECT_EQ(said("\"grad_norm\": 1.25", "\"grad_norm\": 1"),
            "metrics.jsonl says of step 0 grad_norm = 1, the ledger 1.25");
  EXPECT_EQ(said("\"lr\": 0.001", "\"lr\": 0"), "metrics.jsonl says of step 0 lr = 0, the ledger 0.001");
  EXPECT_EQ(said("\"tokens\": 256", "\"tokens\": 255"),
            "metrics.jsonl says of step 0 tokens = 255, the ledger 256");
  EXPECT_EQ(said("\"replicas\": 1", "\"replicas\": 2"),
            "metrics.jsonl says of step 2 replicas = 2, the ledger 1");
  EXPECT_EQ(said(", \"replicas\": 1", ""),
            "metrics.jsonl says of step 2 replicas = \"nothing\", the ledger 1");
  const std::vector<std::string> lines = lines_of(metrics);
  folder.write("metrics.jsonl",
               metrics + line_of_commit(std::get<LedgerCommit>(commit_of(6, 4, {{0, 48, 8}}).what), 1));
  EXPECT_EQ(contradiction(), "metrics.jsonl has step 6, which was not committed");
  folder.write("metrics.jsonl", replaced(metrics, lines[5] + "\n", ""));
  EXPECT_EQ(contradiction(), "") << "the last one may be missing yet";
  folder.write("metrics.jsonl", lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3] + "\n");
  EXPECT_EQ(contradiction(), "metrics.jsonl lacks step 4");
  folder.write("metrics.jsonl", lines[0] + "\n" + lines[0] + "\n");
  EXPECT_EQ(contradiction(), "metrics.jsonl has step 0 where step 1 is the next");
}

TEST_F(Audit, finds_losses_that_are_not_finite_in_one_of_the_two) {
  LedgerRecord bad = commit_of(0, 1, {{0, 0, 8}});
  std::get<LedgerCommit>(bad.what).loss = INFINITY;
  checkpoints.clear();
  folder.write("metrics.jsonl", line_of_commit(std::get<LedgerCommit>(bad.what), 1));
  expect_contradiction({epoch_of(1, 0, "start", {{0, 1, "a"}}), bad}, "");
  expect_contradiction({epoch_of(1, 0, "start", {{0, 1, "a"}}), commit_of(0, 1, {{0, 0, 8}})},
                       "metrics.jsonl says of step 0 loss = null, the ledger 5.5");
}

TEST_F(Audit, finds_checkpoints_that_disagree) {
  checkpoints[0].next_sample = 25;
  EXPECT_EQ(contradiction(), "step-000003.h5 goes on with sample 25, but after step 2 sample 24 is the next");
  checkpoints[0].next_sample = 24;
  checkpoints[1].step = 7;
  EXPECT_EQ(contradiction(), "step-000006.h5 is of 7 steps, but 6 were committed");
  checkpoints[1] = {"step-000005.h5", 6, 48};
  EXPECT_EQ(contradiction(), "step-000005.h5 is of 6 steps, which its name denies");
  checkpoints[1].name = "copy.h5";
  EXPECT_EQ(contradiction(), "");
}

/// With a chain that is right again only what the lines say can give a forgery away.
TEST_F(Audit, finds_a_forged_number_in_any_line_that_counts) {
  const std::vector<std::string> lines = lines_of(folder.read("ledger.jsonl"));
  for (const std::size_t at : {1U, 2U, 4U, 10U, 12U})
    for (const char* name : {"step", "epoch", "first_sample", "samples", "loss", "grad_norm", "lr"}) {
      std::vector<std::string> forged = lines;
      auto object = nlohmann::ordered_json::parse(forged[at]);
      object[name] = object[name].get<double>() == 0 ? nlohmann::ordered_json(1) : nlohmann::ordered_json(0);
      forged[at] = object.dump();
      folder.write("ledger.jsonl", chained(forged));
      EXPECT_FALSE(report().is_clean()) << "line " << at + 1 << ", " << name;
    }
  for (const std::size_t at : {1U, 2U, 4U, 10U, 12U})
    for (const std::size_t part : {0U, 1U})
      for (const std::size_t field : {0U, 1U, 2U}) {
        std::vector<std::string> forged = lines;
        auto object = nlohmann::ordered_json::parse(forged[at]);
        auto& number = object["parts"][part][field];
        number = number.get<int>() + 3;
        forged[at] = object.dump();
        folder.write("ledger.jsonl", chained(forged));
        EXPECT_FALSE(report().is_clean()) << "line " << at + 1 << ", part " << part << ", field " << field;
      }
  folder.write("ledger.jsonl", chained(lines));
  EXPECT_EQ(contradiction(), "");
}

TEST_F(Audit, finds_a_line_that_was_left_out_or_doubled_and_chained_anew) {
  const std::vector<std::string> lines = lines_of(folder.read("ledger.jsonl"));
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::vector<std::string> fewer = lines, more = lines;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(at), lines[at]);
    // Line 8 is the last of the void steps, which nobody misses; what is void (line 9) may be so twice.
    folder.write("ledger.jsonl", chained(fewer));
    EXPECT_EQ(report().is_clean(), at == 7) << "without line " << at + 1;
    folder.write("ledger.jsonl", chained(more));
    EXPECT_EQ(report().is_clean(), at == 8) << "line " << at + 1 << " twice";
  }
}

}  // namespace
}  // namespace tenax::io::test
