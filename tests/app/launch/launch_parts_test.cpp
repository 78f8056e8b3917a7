// The parts of tenax launch that need no replica.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/launch/ending_step.hpp"
#include "app/launch/host_list.hpp"
#include "app/launch/host_pool.hpp"
#include "app/launch/interrupts.hpp"
#include "app/launch/last_words.hpp"
#include "app/launch/launch_files.hpp"
#include "app/launch/remote_end.hpp"
#include "app/launch/replica_command.hpp"
#include "app/launch/replica_process.hpp"
#include "app/launch/restart_policy.hpp"
#include "app/launch/unrecorded_commits.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

using kernels::Error;

std::filesystem::path scratch() {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("launch." + std::to_string(getpid()));
  std::filesystem::create_directories(path);
  return path;
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

int wait_for(ReplicaProcess& process) {
  for (int i = 0; i < 2000; ++i) {
    if (const auto status = process.end_status()) return *status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "it goes on";
  return -1;
}

resilience::CommitRecord commit_of(std::int64_t step, std::int64_t epoch = 1) {
  return {.step = step, .epoch = epoch, .first_sample = 2 * step, .parts = {{0, 2 * step, 2}}, .loss = 0.1};
}

TEST(LastWords, are_no_lines_of_the_banner_and_the_tables) {
  const auto log = scratch() / "words";
  const auto said = [&](const std::string& text, int status = 0) {
    std::ofstream(log, std::ios::binary) << text;
    return last_words(log, 0, status);
  };
  constexpr int kKilled = 137 << 8;  // how mpirun ends then, as waitpid() has it
  const std::string banner = "tenax    run\nlayout   tensor 1\ncomm     shared memory within hosts\n",
                    table = "      step      loss\n      2/20   5.21895\nstep 12: rank 0 (vm) is slow\n",
                    rule(76, '-'), silent = " without a word; see " + log.string();
  EXPECT_EQ(said("ssh: Could not resolve hostname nowhere\n\n"), "ssh: Could not resolve hostname nowhere");
  EXPECT_EQ(said("ssh: connect to host vm port 22: Connection refused\r\n"),
            "ssh: connect to host vm port 22: Connection refused");
  EXPECT_EQ(said(banner, kKilled), "it ended by signal 9" + silent);
  EXPECT_EQ(said(banner + table, SIGKILL), "it ended by signal 9" + silent);
  EXPECT_EQ(said(banner + table, 1 << 8), "it ended with status 1" + silent);
  EXPECT_EQ(said(banner + table), "it ended" + silent);
  EXPECT_EQ(said(banner + "tenax: no memory\n" + table), "tenax: no memory");
  EXPECT_EQ(said(banner + rule + "\nA rank ended.\n" + rule + "\n" + table), "A rank ended.");
  const std::string killed =
      rule + "\nprterun noticed that process rank 1 with PID 7 on node vm exited on\nsignal 9 (Killed).\n" +
      rule + "\n";
  const std::string failed = rule +
                             "\nprterun detected that one or more processes exited with non-zero status,\n"
                             "thus causing the job to be terminated. The first process to do so was:\n\n"
                             "   Process name: [prterun-vm-7@1,0]\n   Exit code:    1\n" +
                             rule + "\n";
  EXPECT_EQ(said(banner + table + killed, kKilled), "it ended by signal 9" + silent) << "Open MPI 5";
  EXPECT_EQ(said(banner + "tenax: no memory\n" + failed, 1 << 8), "tenax: no memory");
  EXPECT_EQ(said(rule + "\nThere are not enough slots.\n" + rule + "\n"), "There are not enough slots.");
  std::string long_table;
  while (long_table.size() < 100'000) long_table += table;
  EXPECT_EQ(said("ssh: a warning\n" + banner + long_table, kKilled), "it ended by signal 9" + silent);
}

TEST(UnrecordedCommits, are_those_that_continue_the_ledger) {
  const auto run = scratch() / "unrecorded";
  const std::vector<resilience::Record> ledger = {
      resilience::EpochRecord{.epoch = 1, .members = {{{0, 1}, "a"}, {{1, 1}, "b"}}}, commit_of(0)};
  for (const char* replica : {"replica-0", "replica-1", "replica-2"})
    std::filesystem::create_directories(run / replica);
  EXPECT_TRUE(read_unrecorded(replica_directories(run), ledger).empty());
  write_unrecorded(run / "replica-1", {commit_of(0), commit_of(1), commit_of(2)});
  write_unrecorded(run / "replica-0", {commit_of(1)});
  std::ofstream(run / "replica-2" / "commits") << "{\"kind\": \"odd\"}\n";
  const auto records = read_unrecorded(replica_directories(run), ledger);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(std::get<resilience::CommitRecord>(records[0]).step, 1);
  EXPECT_EQ(std::get<resilience::CommitRecord>(records[1]).step, 2);
  EXPECT_EQ(std::get<resilience::CommitRecord>(records[1]).loss, 0.1);
  EXPECT_EQ(read_unrecorded({run / "replica-0"}, ledger).size(), 1U) << "of one replica alone";
  write_unrecorded(run / "replica-1", {commit_of(2)});
  write_unrecorded(run / "replica-0", {commit_of(1, 2)});
  EXPECT_TRUE(read_unrecorded(replica_directories(run), ledger).empty()) << "a gap, another epoch";
  remove_unrecorded(replica_directories(run));
  EXPECT_FALSE(std::filesystem::exists(run / "replica-0" / "commits"));
}

TEST(RestartPolicy, waits_longer_the_more_starts_were_in_vain) {
  RestartPolicy policy({.delay_s = 0, .limit = 0});
  std::vector<double> delays;
  policy.on_start();
  policy.on_commit();
  delays.push_back(policy.on_death().value());
  for (int i = 0; i < 9; ++i) {
    policy.on_start();
    delays.push_back(policy.on_death().value());
  }
  EXPECT_EQ(delays, (std::vector<double>{0, 1, 2, 4, 8, 16, 32, 60, 60, 60}));
}

TEST(RestartPolicy, gives_up_after_so_many_starts_in_a_row_without_a_commit) {
  RestartPolicy policy({.delay_s = 3, .limit = 2});
  policy.on_start();
  EXPECT_EQ(policy.on_death(), 3);
  policy.on_start();
  policy.on_commit();
  EXPECT_EQ(policy.on_death(), 3);
  policy.on_start();
  policy.on_start();
  EXPECT_FALSE(policy.on_death().has_value());
}

TEST(HostList, is_cut_into_replicas_in_order) {
  const HostShare share = share_hosts(parse_hosts({"a:3", "b", "c:4", "d"}), 2, 3);
  EXPECT_EQ(share.replicas[0], (std::vector<HostSlots>{{"a", 3}}));
  EXPECT_EQ(share.replicas[1], (std::vector<HostSlots>{{"b", 1}, {"c", 2}}));
  EXPECT_EQ(share.spares, (std::vector<HostSlots>{{"c", 2}, {"d", 1}}));
}

TEST(HostList, keeps_a_replica_in_one_zone) {
  const auto hosts = parse_hosts({"a:3", "b:3", "c:1", "d:2"}, {"x", "y", "x", "y"});
  const HostShare share = share_hosts(hosts, 2, 4);
  EXPECT_EQ(share.replicas[0], (std::vector<HostSlots>{{"a", 3, "x"}, {"c", 1, "x"}}));
  EXPECT_EQ(share.replicas[1], (std::vector<HostSlots>{{"b", 3, "y"}, {"d", 1, "y"}}));
  EXPECT_EQ(share.spares, (std::vector<HostSlots>{{"d", 1, "y"}}));
  EXPECT_THROW(share_hosts(hosts, 1, 6), Error);
  EXPECT_NO_THROW(share_hosts(parse_hosts({"a:3", "b:3"}), 1, 6));
}

HostPool pool_of(const std::vector<std::string>& hosts, const std::vector<std::string>& zones, int replicas,
                 int ranks) {
  return {parse_hosts(hosts, zones), replicas, ranks};
}

TEST(HostPool, sets_a_host_aside_on_which_replicas_died_twice_in_an_hour) {
  HostPool pool = pool_of({"a", "b", "spare"}, {}, 2, 1);
  EXPECT_FALSE(pool.on_death(1, "b", 0));
  EXPECT_FALSE(pool.on_death(1, "b", 3700)) << "the first one is forgotten";
  const auto out = pool.on_death(1, "b", 3800);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->host, "b");
  EXPECT_EQ(out->failures, 2);
  EXPECT_EQ(pool.hosts_of(1), (std::vector<HostSlots>{{"spare", 1}}));
  EXPECT_TRUE(pool.is_on_spare(1));
  EXPECT_FALSE(pool.is_on_spare(0));
  EXPECT_EQ(pool.set_aside(), std::vector<std::string>{"b"});
}

TEST(HostPool, moves_a_replica_that_computed_wrongly_at_once_and_leaves_the_host_to_others) {
  HostPool pool = pool_of({"a", "b", "spare"}, {}, 2, 1);
  EXPECT_FALSE(pool.on_death(1, "b", 0, true));
  EXPECT_EQ(pool.hosts_of(1), (std::vector<HostSlots>{{"spare", 1}}));
  EXPECT_TRUE(pool.set_aside().empty());
  HostPool full = pool_of({"a", "b"}, {}, 2, 1);
  EXPECT_FALSE(full.on_death(1, "b", 0, true));
  EXPECT_EQ(full.hosts_of(1), (std::vector<HostSlots>{{"b", 1}}));
}

TEST(HostPool, keeps_a_host_that_none_can_replace) {
  HostPool pool = pool_of({"a:2", "b:2", "small"}, {}, 2, 2);
  for (int death = 0; death < 5; ++death) EXPECT_FALSE(pool.on_death(0, "a", death));
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"a", 2}}));
  EXPECT_TRUE(pool.set_aside().empty());
}

TEST(HostPool, counts_deaths_of_all_replicas_of_a_host_and_of_the_first_where_it_is_not_known) {
  HostPool pool = pool_of({"a:2", "b:2", "c:2"}, {}, 2, 1);  // both on a
  EXPECT_FALSE(pool.on_death(0, "", 0));
  ASSERT_TRUE(pool.on_death(1, "elsewhere", 1));
  EXPECT_EQ(pool.hosts_of(1), (std::vector<HostSlots>{{"b", 1}}));
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"a", 1}})) << "it lives";
  EXPECT_FALSE(pool.on_death(0, "", 2)) << "it is set aside already";
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"b", 1}}));
  EXPECT_EQ(pool.set_aside().size(), 1u);
}

TEST(HostPool, looks_for_a_place_in_the_same_zone_first_and_never_in_two) {
  HostPool pool = pool_of({"a:2", "x:1", "y:1", "z:2", "b:1", "c:1"}, {"1", "1", "2", "2", "1", "3"}, 1, 2);
  pool.on_death(0, "a", 0);
  ASSERT_TRUE(pool.on_death(0, "a", 1));
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"x", 1, "1"}, {"b", 1, "1"}}));
  pool.on_death(0, "b", 2);
  ASSERT_TRUE(pool.on_death(0, "b", 3));
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"y", 1, "2"}, {"z", 1, "2"}}));
  EXPECT_EQ(pool.zone_of(0), "2");
}

TEST(HostPool, goes_on_without_what_an_earlier_supervisor_has_set_aside) {
  HostPool pool = pool_of({"a", "b", "c"}, {}, 2, 1);
  pool.continue_without("a");
  pool.continue_without("unknown");
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"c", 1}}));
  EXPECT_EQ(pool.hosts_of(1), (std::vector<HostSlots>{{"b", 1}}));
}

TEST(HostPool, has_places_for_warm_spares_where_least_replicas_have_died) {
  HostPool pool = pool_of({"a", "b", "c"}, {}, 1, 1);
  ASSERT_TRUE(pool.place_spare(0));
  EXPECT_EQ(*pool.place_spare(0), (std::vector<HostSlots>{{"b", 1}})) << "its own place is free for it";
  EXPECT_EQ(*pool.place_spare(1), (std::vector<HostSlots>{{"c", 1}}));
  EXPECT_EQ(pool.place_spare(2), nullptr);
  pool.on_death(0, "a", 0);
  pool.hand_over(0, 0);
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"b", 1}}));
  EXPECT_TRUE(pool.is_on_spare(0));
  pool.remove_spare(1);
  EXPECT_EQ(*pool.place_spare(0), (std::vector<HostSlots>{{"c", 1}})) << "one has died on a";
  EXPECT_EQ(*pool.place_spare(1), (std::vector<HostSlots>{{"a", 1}}));
}

TEST(HostPool, goes_on_where_an_earlier_supervisor_has_started_a_replica) {
  HostPool pool = pool_of({"a", "b", "c"}, {"1", "2", "3"}, 2, 1);
  pool.continue_on(0, parse_hosts({"a:1"}));
  EXPECT_FALSE(pool.is_on_spare(0));
  pool.continue_on(0, parse_hosts({"c:1"}));
  EXPECT_EQ(pool.hosts_of(0), (std::vector<HostSlots>{{"c", 1, "3"}}));
  EXPECT_TRUE(pool.is_on_spare(0));
  pool.continue_on(1, parse_hosts({"elsewhere:1"}));
  EXPECT_EQ(pool.hosts_of(1), (std::vector<HostSlots>{{"b", 1, "2"}}));
  EXPECT_EQ(*pool.place_spare(0), (std::vector<HostSlots>{{"a", 1, "1"}}));
}

/// The first slot of each of its hosts.
std::vector<int> firsts(const std::vector<HostSlots>& place) {
  std::vector<int> firsts;
  for (const HostSlots& host : place) firsts.push_back(host.first);
  return firsts;
}

TEST(HostPool, gives_replicas_and_spares_of_a_host_slots_of_their_own) {
  HostPool pool = pool_of({"a:8", "b:6"}, {}, 2, 4);
  EXPECT_EQ(firsts(pool.hosts_of(0)), std::vector<int>{0});
  EXPECT_EQ(firsts(pool.hosts_of(1)), std::vector<int>{4});
  EXPECT_EQ(firsts(*pool.place_spare(0)), std::vector<int>{0});  // on b
  pool.on_death(1, "a", 0);
  pool.hand_over(1, 0);  // what is on a goes on, and so does the spare, wherever it has begun
  EXPECT_EQ(firsts(pool.hosts_of(1)), std::vector<int>{0});
  EXPECT_EQ(firsts(*pool.place_spare(0)), (std::vector<int>{4, 4}))
      << "2 of b, then 2 of a, where one has died";
  HostPool across = pool_of({"a:3", "b:3"}, {}, 3, 2);
  EXPECT_EQ(firsts(across.hosts_of(1)), (std::vector<int>{2, 0}));
  EXPECT_EQ(firsts(across.hosts_of(2)), std::vector<int>{1});
}

TEST(HostPool, has_one_place_for_a_host_that_is_named_again) {
  HostPool twice = pool_of({"a:2", "b:1", "a:2"}, {"x", "y", "x"}, 2, 2);
  EXPECT_EQ(firsts(twice.hosts_of(0)), std::vector<int>{0});
  EXPECT_EQ(firsts(twice.hosts_of(1)), std::vector<int>{2});
  EXPECT_EQ(twice.hosts_of(1), (std::vector<HostSlots>{{"a", 2, "x"}}));
  HostPool thrice = pool_of({"a", "a", "a"}, {}, 2, 1);
  const auto* const spare = thrice.place_spare(0);
  ASSERT_TRUE(spare);
  EXPECT_EQ(firsts(*spare), std::vector<int>{2});
}

TEST(HostPool, counts_the_replicas_that_share_a_host) {
  HostPool pool(parse_hosts({"a:4", "b:2", "c:1", "d:1"}), 4, 2);
  for (const int replica : {0, 1}) EXPECT_EQ(pool.most_replicas(pool.hosts_of(replica)), 2);
  for (const int replica : {2, 3}) EXPECT_EQ(pool.most_replicas(pool.hosts_of(replica)), 1);
  EXPECT_EQ(pool.most_replicas(parse_hosts({"c", "a"})), 2);
}

TEST(HostPool, calls_a_spare_of_the_same_zone_first) {
  HostPool pool = pool_of({"a", "b", "c"}, {"1", "2", "1"}, 1, 1);
  ASSERT_TRUE(pool.place_spare(0));
  ASSERT_TRUE(pool.place_spare(1));
  EXPECT_EQ(pool.choose_spare(0, {0, 1}), 0) << "on c";
  EXPECT_EQ(pool.choose_spare(0, {1}), 1);
  EXPECT_FALSE(pool.choose_spare(0, {}));
}

TEST(HostList, refuses_too_few_slots_and_what_is_no_host) {
  EXPECT_THROW(share_hosts(parse_hosts({"a:3", "b:2"}), 2, 3), Error);
  for (const char* text : {"", ":2", "a:", "a:0", "a:x", "a:-1", "a:2x"})
    EXPECT_THROW(parse_hosts({text}), Error) << text;
}

TEST(ReplicaCommand, tells_each_rank_its_slot_of_its_host) {
  ReplicaCommand command;
  command.ranks = 3;
  EXPECT_EQ(command.slots(0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(command.slots(2), (std::vector<int>{6, 7, 8})) << "all on this machine";
  command.hosts = {{"a", 2, {}, 4}, {"b", 1}};
  EXPECT_EQ(command.slots(2), (std::vector<int>{4, 5, 0}));
}

// mpirun has -q up to Open MPI 4 only; Open MPI 5 reads other names than 4.
TEST(ReplicaCommand, has_words_and_names_for_open_mpi_4_and_5) {
  ReplicaCommand command;
  command.ranks = 2;
  command.program = "/opt/tenax";
  command.arguments = {"--join"};
  EXPECT_EQ(command.words(), (std::vector<std::string>{"mpirun", "-n", "2", "/opt/tenax", "--join"}));
  const auto variables = command.environment();
  for (const char* variable :
       {"OMPI_MCA_orte_execute_quiet=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "OMPI_MCA_hwloc_base_binding_policy=none",
        "PRTE_MCA_hwloc_default_binding_policy=none"})
    EXPECT_EQ(std::count(variables.begin(), variables.end(), variable), 1) << variable;
}

TEST(ReplicaCommand, quotes_what_goes_through_a_shell) {
  ReplicaCommand command{.ranks = 2,
                         .hosts = {{"node7", 2}},
                         .remote_shell = "ssh",
                         .program = "/opt/my tenax/tenax",
                         .arguments = {"--join", "/runs/it's/join"},
                         .scratch = "/dev/shm/x",
                         .directory = "/runs"};
  const auto words = command.words();
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0], "ssh");
  EXPECT_EQ(words[1], "node7");
  EXPECT_NE(words[2].find("'/opt/my tenax/tenax' '--join' '/runs/it'\\''s/join'"), std::string::npos)
      << words[2];
  EXPECT_EQ(words[2].find("--host"), std::string::npos);
  command.hosts.push_back({"node8", 1});
  EXPECT_NE(command.words()[2].find("'--host' 'node7:2,node8:1'"), std::string::npos);
}

TEST(ReplicaCommand, hands_the_choice_of_loops_on_to_all_hosts) {
  const char* const before = std::getenv("TENAX_CPU_LOOPS");
  const std::string kept = before ? before : "";
  const ReplicaCommand command{.ranks = 2,
                               .hosts = {{"node7", 1}, {"node8", 1}},
                               .remote_shell = "ssh",
                               .program = "tenax",
                               .arguments = {"--join"},
                               .scratch = "/dev/shm/x",
                               .directory = "/runs"};
  unsetenv("TENAX_CPU_LOOPS");
  EXPECT_EQ(command.words()[2].find("TENAX_CPU_LOOPS"), std::string::npos);
  setenv("TENAX_CPU_LOOPS", "avx2", 1);
  const std::string line = command.words()[2];
  EXPECT_NE(line.find(" 'TENAX_CPU_LOOPS=avx2' "), std::string::npos) << line;
  EXPECT_NE(line.find(" '-x' 'TENAX_CPU_LOOPS' 'tenax'"), std::string::npos) << line;
  if (before)
    setenv("TENAX_CPU_LOOPS", kept.c_str(), 1);
  else
    unsetenv("TENAX_CPU_LOOPS");
}

TEST(RemoteEnd, ends_what_was_started_with_the_scratch_folder_and_nothing_else) {
  const auto folder = scratch();
  const auto start = [&](const std::string& variable) {
    return ReplicaProcess::start(
        {.words = {"sleep", "1000"}, .environment = {variable}, .log = folder / "log"});
  };
  ReplicaProcess one = start(scratch_variable("/dev/shm/x-1")),
                 other = start(scratch_variable("/dev/shm/x-12"));
  // `env` gives the variable to what it becomes.
  const std::string name = "/proc/" + std::to_string(one.id().pid) + "/comm";
  for (int i = 0; i < 2000 && text_of(name) != "sleep\n"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  one.send(SIGSTOP);
  for (int i = 0; i < 2000 && !one.end_status(); ++i) {
    end_processes("/dev/shm/x-1");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(one.end_status());
  EXPECT_FALSE(other.end_status());
  other.kill_session();
}

TEST(EndingStep, interrupts_a_srun_again_that_goes_on) {
  const auto folder = scratch();
  auto srun = ReplicaProcess::start(
      {.words = {"bash", "-c",
                 "trap 'echo asked; (( ++n == 2 )) && exit' INT; echo ready; while :; do sleep 0.05; done"},
       .environment = {},
       .log = folder / "srun"});
  const auto says = [&](const std::string& text) {
    for (int i = 0; i < 2000 && text_of(folder / "srun") != text; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return text_of(folder / "srun") == text;
  };
  ASSERT_TRUE(says("ready\n"));
  srun.send(SIGINT);
  ASSERT_TRUE(says("ready\nasked\n"));
  EndingStep step(std::move(srun));
  EXPECT_FALSE(step.has_ended());
  for (int i = 0; i < 2000 && !step.has_ended(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(step.has_ended());
  EXPECT_TRUE(says("ready\nasked\nasked\n"));
}

TEST(ReplicaCommand, gives_a_step_of_srun_the_hosts_that_the_deck_names) {
  ReplicaCommand command{.method = LaunchMethod::srun,
                         .ranks = 3,
                         .hosts = {},
                         .remote_shell = "ssh",
                         .program = "tenax",
                         .arguments = {"--join", "/r/join"},
                         .scratch = "/dev/shm/x",
                         .directory = "/r"};
  const auto has = [&](const std::string& word) {
    const auto words = command.words();
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  EXPECT_FALSE(has("--nodelist"));
  command.hosts = {{"node7", 2}, {"node9", 1}};
  EXPECT_TRUE(has("--nodelist") && has("node7,node9") && has("-N") && has("2"));
  EXPECT_FALSE(has("--cpus-per-task=1"));
  command.threads = 4;
  EXPECT_TRUE(has("--cpus-per-task=4"));
}

TEST(LaunchFiles, tell_a_start_from_its_successor) {
  const JoinFile join{
      .run_id = "0123456789abcdef", .secret = "", .deck = "", .build = "", .resume = "", .incarnation = 7};
  JoinFile now = join;
  now.service = {"tcp:127.0.0.1:6#1"};
  EXPECT_TRUE(now.is_of_same_start(join)) << "the service has moved";
  ++now.incarnation;
  EXPECT_FALSE(now.is_of_same_start(join));
  now = join;
  now.run_id = "fedcba9876543210";
  EXPECT_FALSE(now.is_of_same_start(join));
}

TEST(LaunchFiles, come_back_as_they_were_written) {
  const auto folder = scratch();
  const JoinFile join{.run_id = "0123456789abcdef",
                      .secret = "00ff",
                      .deck = "/x/deck.toml",
                      .build = "1 c",
                      .resume = "auto",
                      .replica = 3,
                      .incarnation = 7,
                      .spare = 2,
                      .slots = {4, 5},
                      .replicas_on_host = 3,
                      .service = {"tcp:127.0.0.1:5#1"}};
  join.write(folder / "join");
  const JoinFile read = JoinFile::read(folder / "join");
  EXPECT_EQ(read.secret, join.secret);
  EXPECT_EQ(read.incarnation, 7);
  EXPECT_EQ(read.slots, join.slots);
  EXPECT_EQ(read.replicas_on_host, 3);
  EXPECT_TRUE(read.is_spare());
  EXPECT_EQ(read.seat(), "spare-2");
  struct stat facts {};
  ASSERT_EQ(stat((folder / "join").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  EXPECT_THROW(JoinFile::read(folder / "none"), Error);

  Outcome{.incarnation = 7, .status = 1, .reason = "no \"memory\"", .is_own = true}.write(folder / "outcome");
  EXPECT_EQ(Outcome::read(folder / "outcome")->reason, "no \"memory\"");
  EXPECT_TRUE(Outcome::read(folder / "outcome")->is_own);
  EXPECT_FALSE(Outcome::read(folder / "none").has_value());

  LaunchFile launch{.supervisor = {"a", this_process()}, .replicas = {}, .service = "a:5"};
  launch.replicas.push_back({1, 2, {"b", {17, 18}}, "/dev/shm/y", {"n:2"}});
  launch.write(folder / "launch.json");
  const auto again = LaunchFile::read(folder / "launch.json");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->supervisor.id, this_process());
  EXPECT_EQ(again->replicas.at(0).process.id, (ProcessId{17, 18}));
  EXPECT_EQ(again->replicas.at(0).scratch, "/dev/shm/y");
  EXPECT_EQ(again->replicas.at(0).hosts, std::vector<std::string>{"n:2"});
}

/// Whether a hangup counts as the wish to stop where it had this handler before.
bool stops_at_hangup(void (*handler)(int)) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  auto* const before = std::signal(SIGHUP, handler);
  Interrupts interrupts;
  std::raise(SIGHUP);
  const bool stops = interrupts.take().any;
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::signal(SIGHUP, before);
  return stops;
}

TEST(Interrupts, leave_a_hangup_ignored_that_nohup_ignores) {
  EXPECT_FALSE(stops_at_hangup(SIG_IGN));
  EXPECT_TRUE(stops_at_hangup(SIG_DFL));
}

TEST(ReplicaProcess, ends_of_a_broken_pipe_though_its_supervisor_does_not) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  auto process = ReplicaProcess::start(
      {.words = {"sh", "-c", "kill -PIPE $$; exit 0"}, .environment = {}, .log = scratch() / "pipe"});
  std::signal(SIGPIPE, before);
  const int status = wait_for(process);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
}

TEST(ReplicaProcess, has_a_session_of_its_own_and_writes_to_its_log) {
  const auto log = scratch() / "log";
  auto process =
      ReplicaProcess::start({.words = {"sh", "-c", "echo $GREETING; ps -o sid= -p $$ 2>/dev/null; exit 7"},
                             .environment = {"GREETING=hello"},
                             .log = log});
  const int status = wait_for(process);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(text_of(log).substr(0, 6), "hello\n");
}

TEST(ReplicaProcess, that_cannot_be_started_says_so) {
  auto process =
      ReplicaProcess::start({.words = {"/no/such/program"}, .environment = {}, .log = scratch() / "log"});
  EXPECT_EQ(WEXITSTATUS(wait_for(process)), 127);  // env's word for it
  EXPECT_THROW(ReplicaProcess::start({.words = {"true"}, .environment = {}, .log = "/no/such/folder/log"}),
               Error);
}

TEST(ReplicaProcess, is_killed_with_all_its_session_even_if_that_is_stopped) {
  auto process = ReplicaProcess::start({.words = {"sh", "-c", "sleep 100 & kill -STOP $!; sleep 100"},
                                        .environment = {},
                                        .log = scratch() / "log"});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const ProcessId id = process.id();
  process.kill_session();
  EXPECT_TRUE(WIFSIGNALED(wait_for(process)));
  const std::string count =
      "test $(ps -o stat= -s " + std::to_string(id.pid) + " 2>/dev/null | grep -vc Z) = 0";
  // A killed one ends once it has a processor.
  for (int i = 0; i < 100 && std::system(count.c_str()) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(std::system(count.c_str()), 0);
}

TEST(ReplicaProcess, can_be_adopted_by_number_and_start_time) {
  auto process =
      ReplicaProcess::start({.words = {"sleep", "100"}, .environment = {}, .log = scratch() / "log"});
  EXPECT_FALSE(ReplicaProcess::adopt({process.id().pid, process.id().start_time + 1}).has_value());
  auto adopted = ReplicaProcess::adopt(process.id());
  ASSERT_TRUE(adopted.has_value());
  EXPECT_FALSE(adopted->end_status().has_value());
  adopted->send(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for(process)));
  EXPECT_EQ(wait_for(*adopted), 0);
}

}  // namespace
}  // namespace tenax::app
