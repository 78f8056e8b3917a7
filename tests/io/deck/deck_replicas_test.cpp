// Replicas in decks: their section, their share of the batch, and the faults that are theirs.
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

/// Two replicas; the next line is 17.
const std::string kReplicas = with("[parallel]\nreplicas = 2\n");
const std::string kFault = kReplicas + "[[inject]]\n";  // line 18 on

TEST(ReplicasDeck, leaves_defaults_of_the_contract_where_nothing_is_said) {
  const ReplicasSection replicas = deck_of(kReplicas).replicas;
  EXPECT_EQ(replicas.batch.word(), "keep");
  EXPECT_EQ(replicas.lr_intervention.word(), "none");
  EXPECT_EQ(replicas.min_replicas, 1);
  EXPECT_EQ(replicas.launcher.word(), "auto");
  EXPECT_TRUE(replicas.hosts.empty());
  EXPECT_EQ(replicas.remote_shell, "ssh");
  EXPECT_EQ(replicas.restart_limit, 5);
  EXPECT_EQ(replicas.restart_delay_s, 0);
  EXPECT_EQ(replicas.heartbeat_ms, 100);
  EXPECT_EQ(replicas.dead_ms, 1000);
  EXPECT_EQ(replicas.join_wait_ms, 1000);
  EXPECT_EQ(replicas.service_wait_s, 600);
  EXPECT_EQ(replicas.listen, "");
  EXPECT_EQ(replicas.wire_dtype.word(), "fp32");
  EXPECT_EQ(replicas.chunk_kib, 0);
  EXPECT_EQ(replicas.chunks_in_flight, 4);
  EXPECT_EQ(replicas.connections, 1);
  EXPECT_TRUE(replicas.zones.empty() && replicas.state_interfaces.empty());
  EXPECT_EQ(replicas.warm_spares, 0);
  EXPECT_EQ(replicas.state_gbps, 0);
  EXPECT_EQ(replicas.store, "file");
  EXPECT_EQ(replicas.store_user + replicas.store_ca, "");
  EXPECT_EQ(replicas.hang_factor, 3);
  EXPECT_EQ(replicas.digest_steps, 16);
}

TEST(ReplicasDeck, takes_every_key_of_the_first_part_and_comes_back_the_same) {
  const Deck deck = deck_of(
      kReplicas, {"replicas.batch=shrink", "replicas.lr_intervention=sqrt", "replicas.min_replicas=2",
                  "replicas.launcher=srun", "replicas.hosts=[node1:8, user@node-2.local]",
                  "replicas.remote_shell=rsh -x", "replicas.restart_limit=0", "replicas.restart_delay_s=0.5",
                  "replicas.heartbeat_ms=10", "replicas.dead_ms=30", "replicas.join_wait_ms=0",
                  "replicas.service_wait_s=1.5", "replicas.listen=10.0.0.5:4000", "replicas.wire_dtype=bf16",
                  "replicas.chunk_kib=4", "replicas.chunks_in_flight=64", "replicas.connections=16"});
  EXPECT_EQ(deck.replicas.hosts, (std::vector<std::string>{"node1:8", "user@node-2.local"}));
  EXPECT_EQ(deck.replicas.lr_intervention, LrIntervention::square_root);
  EXPECT_EQ(deck.replicas.dead_ms, 30);
  const std::string text = to_toml(deck);
  EXPECT_EQ(to_toml(parse_resolved_deck(text)), text);
}

TEST(ReplicasDeck, may_have_the_section_without_replicas) {
  EXPECT_NO_THROW(deck_of(kSmallDeck, {"replicas.batch=shrink", "replicas.chunks_in_flight=2"}));
}

TEST(ReplicasDeck, shares_the_batch_by_micro_batches_or_evenly_where_it_may_shrink) {
  const std::vector<std::string> three = {"parallel.replicas=3"},
                                 shrink = {"parallel.replicas=3", "replicas.batch=shrink"};
  EXPECT_NO_THROW(deck_of(kSmallDeck, three)) << "8 sequences: 3, 3 and 2";
  EXPECT_NO_THROW(deck_of(edited("= 8", "= 12"), shrink));
  EXPECT_NO_THROW(deck_of(edited("= 8", "= 1024"), {"parallel.replicas=1024"}));
}

std::vector<Mistake> mistakes_of_batches() {
  return {
      {kSmallDeck,
       {"parallel.replicas=9"},
       "command line: parallel.replicas: batch.global_batch_size = 8 leaves a replica without samples: it "
       "must "
       "be at least batch.micro_batch_size x parallel.data_parallel_size x parallel.replicas = 1 x 1 x 9"},
      {kReplicas,
       {"batch.micro_batch_size=8"},
       "command line: batch.micro_batch_size: batch.global_batch_size"},
      {kReplicas,
       {"parallel.replicas=3", "replicas.batch=shrink"},
       "command line: parallel.replicas: batch.global_batch_size = 8 is not a multiple of "
       "batch.micro_batch_size x parallel.data_parallel_size x parallel.replicas = 1 x 1 x 3"},
      {kReplicas,
       {"replicas.lr_intervention=linear"},
       "command line: replicas.lr_intervention: replicas.lr_intervention = \"linear\" needs replicas.batch = "
       "\"shrink\""},
      {kReplicas + "[replicas]\nmin_replicas = 3\n",
       {},
       "DECK:18:1: replicas.min_replicas = 3 is more than there are: parallel.replicas = 2"},
      {kSmallDeck,
       {"parallel.replicas=1025"},
       "command line: parallel.replicas: parallel.replicas = 1025 is out of"},
      {kReplicas,
       {"device.cuda_graph=true"},
       "command line: device.cuda_graph: device.cuda_graph = true needs"},
  };
}

std::vector<Mistake> mistakes_of_keys() {
  std::vector<Mistake> mistakes = {
      {kReplicas + "[replicas]\ndead_ms = 299\n",
       {},
       "DECK:18:1: replicas.dead_ms = 299 must be at least 3 x replicas.heartbeat_ms = 300"},
      {kReplicas,
       {"replicas.chunk_kib=3"},
       "command line: replicas.chunk_kib: replicas.chunk_kib = 3 must be 0 or"},
      {kReplicas,
       {"replicas.remote_shell="},
       "command line: replicas.remote_shell: replicas.remote_shell is empty"},
  };
  for (const char* out_of_range :
       {"min_replicas=0", "restart_limit=-1", "restart_delay_s=-1", "heartbeat_ms=9", "heartbeat_ms=10001",
        "dead_ms=0", "join_wait_ms=-1", "service_wait_s=0", "chunk_kib=65537", "chunks_in_flight=0",
        "chunks_in_flight=65", "connections=0", "connections=17", "launcher=ssh", "batch=grow"}) {
    const std::string key = std::string(out_of_range).substr(0, std::string(out_of_range).find('='));
    mistakes.push_back({kReplicas,
                        {std::string("replicas.") + out_of_range},
                        "command line: replicas." + key + ": replicas." + key + " = "});
  }
  for (const char* host : {"", "a b", "-oProxyCommand=x", "a:0", "a:-1", "a:x", ":4", "a:", "a;b"})
    mistakes.push_back({kReplicas,
                        {std::string("replicas.hosts=[\"ok\", \"") + host + "\"]"},
                        std::string("command line: replicas.hosts: replicas.hosts has \"") + host + "\""});
  for (const char* place :
       {"10.0.0.5", "10.0.0.5:0", "10.0.0.5:65536", ":4000", "node1:4000", "[fd00::2:1", "-:1"})
    mistakes.push_back({kReplicas,
                        {std::string("replicas.listen=\"") + place + "\""},
                        std::string("command line: replicas.listen: replicas.listen = \"") + place +
                            "\" is not of the form ADDRESS:PORT"});
  return mistakes;
}

std::vector<Mistake> mistakes_of_stores() {
  return {{kReplicas,
           {"replicas.hosts=[a, b, c]", "replicas.zones=[x, y]"},
           "command line: replicas.zones: replicas.zones has 2 names for 3 of replicas.hosts: it needs one "
           "for each"},
          {kReplicas,
           {R"(replicas.hosts=["a:2", "b", "a"])", "replicas.zones=[x, y, z]"},
           R"(command line: replicas.zones: replicas.hosts has "a" in two of replicas.zones: "x" and "z")"},
          {kReplicas,
           {"replicas.warm_spares=1"},
           "command line: replicas.warm_spares: replicas.warm_spares = 1 is more than the spares: "
           "replicas.hosts has room for 0 beyond those of parallel.replicas = 2"},
          {kReplicas,
           {R"(replicas.hosts=["a:2", "b"])", "replicas.warm_spares=2"},
           "command line: replicas.warm_spares: replicas.warm_spares = 2 is more than the spares: "
           "replicas.hosts has room for 1 beyond"},
          {kReplicas,
           {"replicas.store=etcd://h/p"},
           "command line: replicas.store: replicas.store = \"etcd://h/p\" has \"h\", which is no HOST:PORT"},
          {kReplicas,
           {"replicas.store_user=me"},
           "command line: replicas.store_user: replicas.store_user needs replicas.store = \"etcd://...\""},
          {kReplicas,
           {"replicas.store=etcd://h:1/p", "replicas.store_ca=ca.pem"},
           "command line: replicas.store_ca: replicas.store_ca needs replicas.store = \"etcds://...\""}};
}

std::vector<Mistake> mistakes_of_faults() {
  const auto process = [](const std::string& lines) { return kFault + "kind = \"process\"\n" + lines; };
  const auto partition = [](const std::string& lines) { return kFault + "kind = \"partition\"\n" + lines; };
  const auto delay = [](const std::string& lines) {
    return kFault + "kind = \"link_delay\"\ndelay_ms = 5\n" + lines;
  };
  const std::string which =
      "inject.0 needs replicas = [a, b], or replica = a with service = true, one of them";
  return {
      {process(""), {}, "DECK:18:1: a process fault needs inject.0.replica"},
      {process("replica = 2\n"),
       {},
       "DECK:19:1: inject.0.replica = 2 is outside of the run: it has 2 replicas"},
      {process("replica = 0\nrank = 1\n"),
       {},
       "DECK:20:1: inject.0.rank = 1 is outside of the replica: it has 1 ranks"},
      {process("replica = 0\nstop_s = 3\n"),
       {},
       "DECK:20:1: inject.0.stop_s = 3.0 needs inject.0.signal = \"STOP\""},
      {process("replica = 0\npoint = \"lunch\"\n"),
       {},
       "DECK:20:1: inject.0.point = \"lunch\" is not one of"},
      {process("replica = 0\nseconds = 3\n"),
       {},
       "DECK:20:1: inject.0.seconds = 3.0 needs inject.0.kind = \"partition\""},
      {process("replica = 0\nstages = [0, 1]\n"),
       {},
       "DECK:20:1: inject.0.stages = [0, 1] needs inject.0.kind = \"link_delay\" or \"link_down\""},
      {partition("replicas = [0, 1]\n"), {}, "DECK:18:1: a partition needs inject.0.seconds"},
      {partition("seconds = 3\n"), {}, "DECK:17:1: " + which},
      {partition("seconds = 3\nreplica = 0\n"), {}, "DECK:20:1: " + which},
      {partition("seconds = 3\nreplica = 0\nservice = true\nreplicas = [0, 1]\n"), {}, "DECK:22:1: " + which},
      {partition("seconds = 3\nservice = true\nreplica = 2\n"),
       {},
       "DECK:21:1: inject.0.replica = 2 is outside"},
      {partition("seconds = 3\nreplicas = [0, 2]\n"),
       {},
       "DECK:20:1: inject.0.replicas = [0, 2] is outside of the run: it has 2 replicas"},
      {partition("seconds = 3\nreplicas = [1, 1]\n"),
       {},
       "DECK:20:1: inject.0.replicas = [1, 1] must be two different replicas"},
      {delay("replicas = [0]\n"), {}, "DECK:20:1: inject.0.replicas = [0] must be two different replicas"},
      {delay("replicas = [0, 1]\nranks = [0, 1]\n"),
       {},
       "DECK:21:1: inject.0 needs stages = [i, i + 1], ranks"},
      {delay("replicas = [0, 1]\ndata = 0\n"), {}, "DECK:21:1: inject.0.data = 0 goes with stages"},
  };
}

std::vector<Mistake> mistakes_of_bit_flips() {
  const std::string flip = kFault + "kind = \"bit_flip\"\n", there = flip + "replica = 1\nrank = 0\n";
  const std::string named = there + "tensor = \"wte.weight\"\n";
  return {
      {flip + "tensor = \"wte.weight\"\n", {}, "DECK:18:1: a bit_flip needs inject.0.replica = 0 or more"},
      {flip + "replica = 2\n",
       {},
       "DECK:19:1: inject.0.replica = 2 is outside of the run: it has 2 replicas"},
      {flip + "replica = 1\nrank = 1\n", {}, "DECK:20:1: inject.0.rank = 1 is outside of the replica"},
      {there, {}, "DECK:18:1: a bit_flip needs inject.0.tensor"},
      {named + "part = \"exp_avg_sq\"\n",
       {"optimizer.kind=lion"},
       "DECK:22:1: inject.0.part = \"exp_avg_sq\" needs optimizer.kind = \"adamw\""},
      {named,
       {"device.kind=cuda"},
       "DECK:18:1: inject.0.kind = \"bit_flip\": bits are flipped in the memory"},
  };
}

std::vector<Mistake> mistakes_of_hangs() {
  const std::string hang = kFault + "kind = \"hang\"\n", there = hang + "replica = 1\nrank = 0\n";
  return {
      {hang + "rank = 0\n", {}, "DECK:18:1: a hang needs inject.0.replica = 0 or more"},
      {hang + "replica = 2\n",
       {},
       "DECK:19:1: inject.0.replica = 2 is outside of the run: it has 2 replicas"},
      {hang + "replica = 1\nrank = -1\n", {}, "DECK:20:1: inject.0.rank = -1 is outside of the replica"},
      {there + "where = \"skip_collective\"\n",
       {},
       "DECK:21:1: inject.0.where = \"skip_collective\" needs a tensor or data group"},
      {there + "where = \"connection\"\n",
       {},
       "DECK:21:1: inject.0.where = \"connection\" needs device.kind = \"emulated\" and several ranks"},
  };
}

TEST(ReplicasDeck, takes_hangs) {
  const std::string hang = kFault + "kind = \"hang\"\nreplica = 1\nrank = 0\nwhere = ";
  EXPECT_NO_THROW(deck_of(hang + "\"pass\"\n"));
  EXPECT_NO_THROW(deck_of(hang + "\"skip_collective\"\n", {"parallel.data_parallel_size=2"}));
  EXPECT_NO_THROW(deck_of(hang + "\"connection\"\n",
                          {"parallel.data_parallel_size=2", "device.kind=emulated", "device.forward_ms=1",
                           "device.backward_input_ms=1", "device.backward_weight_ms=1"}));
  EXPECT_EQ(deck_of(kReplicas, {"replicas.hang_factor=2.5"}).replicas.hang_factor, 2.5);
}

TEST(ReplicasDeck, takes_bit_flips_and_digests) {
  const std::string flip = kFault + "kind = \"bit_flip\"\nreplica = 1\nrank = 0\ntensor = \"wte.weight\"\n";
  for (const char* part : {"weight", "exp_avg", "exp_avg_sq", "own_sum", "sum"})
    EXPECT_NO_THROW(deck_of(flip + "part = \"" + part + "\"\nelement = 7\nbit = 31\nrepeat = true\n"));
  EXPECT_NO_THROW(deck_of(flip + "part = \"exp_avg\"\n", {"optimizer.kind=lion"}));
  EXPECT_EQ(deck_of(kReplicas, {"replicas.digest_steps=0"}).replicas.digest_steps, 0);
}

TEST(ReplicasDeck, takes_faults_of_replicas) {
  const std::string process =
      "replica = 0\nrank = -1\nsignal = \"STOP\"\nstop_s = 0.5\npoint = \"vote\"\nrepeat = true\n";
  EXPECT_NO_THROW(deck_of(kFault + "kind = \"process\"\n" + process));
  EXPECT_NO_THROW(deck_of(kFault + "kind = \"partition\"\nreplicas = [1, 0]\nseconds = 0.5\n"));
  EXPECT_NO_THROW(deck_of(kFault + "kind = \"partition\"\nreplica = 1\nservice = true\nseconds = 0.5\n"));
  EXPECT_NO_THROW(deck_of(kFault + "kind = \"link_delay\"\nreplicas = [0, 1]\ndelay_ms = 5\n"));
}

class ReplicasDeckMistakes : public testing::TestWithParam<Mistake> {};
TEST_P(ReplicasDeckMistakes, is_one_message_with_its_place_and_status_2) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(batches, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_batches()));
INSTANTIATE_TEST_SUITE_P(keys, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_keys()));
INSTANTIATE_TEST_SUITE_P(stores, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_stores()));
INSTANTIATE_TEST_SUITE_P(faults, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_faults()));
INSTANTIATE_TEST_SUITE_P(hangs, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_hangs()));
INSTANTIATE_TEST_SUITE_P(bit_flips, ReplicasDeckMistakes, testing::ValuesIn(mistakes_of_bit_flips()));

}  // namespace
}  // namespace tenax::io::test
