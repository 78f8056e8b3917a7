// [[inject]] entries of decks.
#include "io/deck/fault_trace.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

/// Two stages and two pipelines; the next line is 18.
const std::string kPipelines = with("[parallel]\npipeline_parallel_size = 2\ndata_parallel_size = 2\n");

std::string delay(const std::string& lines) {
  return kPipelines + "[[inject]]\nkind = \"link_delay\"\n" + lines;  // line 20 on
}
std::string down(const std::string& lines) {
  return kPipelines + "[[inject]]\nkind = \"link_down\"\n" + lines;
}

std::string slow(const std::string& lines) {
  return kPipelines + "[[inject]]\nkind = \"slow_compute\"\n" + lines;
}

Deck traced_deck_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  folder.write("delays.csv", "seconds,delay_ms\n0,10\n");
  return read_deck(folder.write("d.toml", text), overrides);
}

TEST(InjectDeck, takes_a_delay_on_a_link_between_stages) {
  const Deck deck =
      traced_deck_of(delay("stages = [0, 1]\ndelay_ms = 30\nfrom_step = 3\nto_step = 5\ndata = 1\n"));
  ASSERT_EQ(deck.inject.size(), 1U);
  EXPECT_EQ(deck.inject[0].stages, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(deck.inject[0].delay_ms, 30);
  EXPECT_EQ(deck.inject[0].from_step, 3);
  EXPECT_EQ(deck.inject[0].to_step, 5);
  EXPECT_EQ(deck.inject[0].data, 1);
}

TEST(InjectDeck, takes_every_way_to_give_a_delay_and_every_path_that_goes_down) {
  EXPECT_EQ(traced_deck_of(delay("ranks = [3, 0]\nper_packet_ms = 0.375\npacket_bytes = 1048576\n"))
                .inject[0]
                .packet_bytes,
            1048576);
  const Deck deck = traced_deck_of(delay("ranks = [3, 0]\ndelay_ms = 2\ngbps = 2.5\n"));
  EXPECT_EQ(deck.inject[0].delay_ms, 2);
  EXPECT_EQ(deck.inject[0].gbps, 2.5);
  EXPECT_EQ(traced_deck_of(delay("ranks = [3, 0]\ngbps = 2.5\n")).inject[0].delay_ms, 0);
  EXPECT_EQ(traced_deck_of(down("stages = [1, 0]\npath = \"10.0.0.5\"\n")).inject[0].path, "10.0.0.5");
  EXPECT_EQ(traced_deck_of(down("ranks = [0, 1]\npath = \"direct\"\n")).inject[0].path, "direct");
}

TEST(InjectDeck, takes_seconds_for_every_kind_alone_and_beside_steps) {
  const Deck deck = traced_deck_of(delay("stages = [0, 1]\ndelay_ms = 3\nfrom_s = 1.5\nto_s = 9\n"));
  EXPECT_EQ(deck.inject[0].from_s, 1.5);
  EXPECT_EQ(deck.inject[0].to_s, 9);
  EXPECT_EQ(traced_deck_of(down("stages = [0, 1]\npath = \"direct\"\nfrom_s = 2\nfrom_step = 3\n"))
                .inject[0]
                .from_s,
            2);
  EXPECT_EQ(traced_deck_of(kPipelines + "[[inject]]\nkind = \"process\"\nreplica = 0\nfrom_s = 2\n")
                .inject[0]
                .from_s,
            2);
}

TEST(InjectDeck, takes_a_rank_that_is_slow_by_a_factor_or_a_trace_in_every_replica_or_one) {
  const InjectEntry fault = traced_deck_of(slow("rank = 3\nfactor = 1.5\nfrom_step = 2\n")).inject[0];
  EXPECT_EQ(fault.rank, 3);
  EXPECT_EQ(fault.factor, 1.5);
  EXPECT_EQ(fault.replica, -1);
  EXPECT_EQ(traced_deck_of(slow("rank = 0\nfactor = 1\nreplica = 0\n")).inject[0].replica, 0);
  const TemporaryFolder folder;
  folder.write("t.csv", "seconds,factor\n0,1\n5,2.5\n");
  const auto file = folder.write("d.toml", slow("rank = 0\ntrace = \"t.csv\"\n"));
  EXPECT_EQ(read_deck(file, {}).inject[0].trace, folder.path() / "t.csv");
}

TEST(InjectDeck, finds_a_trace_beside_the_deck) {
  const TemporaryFolder folder;
  folder.write("delays.csv", "0,10\n");
  const auto file = folder.write("d.toml", delay("stages = [0, 1]\ntrace = \"delays.csv\"\n"));
  EXPECT_EQ(read_deck(file, {}).inject[0].trace, folder.path() / "delays.csv");
}

TEST(InjectDeck, takes_faults_from_the_command_line) {
  EXPECT_EQ(
      traced_deck_of(delay("stages = [0, 1]\ndelay_ms = 30\n"), {"inject.0.delay_ms=60"}).inject[0].delay_ms,
      60);
  const Deck deck = traced_deck_of(
      kPipelines, {"inject.0.kind=link_delay", "inject.0.stages=[0,1]", "inject.0.delay_ms=5",
                   "inject.1.kind=link_down", "inject.1.ranks=[0, 2]", "inject.1.path=direct"});
  ASSERT_EQ(deck.inject.size(), 2U);
  EXPECT_EQ(deck.inject[1].path, "direct");
}

TEST(InjectDeck, takes_a_delay_of_zero_so_that_a_sweep_may_begin_there) {
  EXPECT_EQ(
      traced_deck_of(delay("stages = [0, 1]\ndelay_ms = 30\n"), {"inject.0.delay_ms=0"}).inject[0].delay_ms,
      0);
  EXPECT_NO_THROW(traced_deck_of(delay("stages = [0, 1]\nper_packet_ms = 0\npacket_bytes = 1000\n")));
}

TEST(InjectDeck, comes_back_the_same_from_its_resolved_text) {
  for (const std::string& fault :
       {delay("stages = [0, 1]\ndelay_ms = 0\n"), delay("stages = [0, 1]\ngbps = 0.5\nfrom_s = 2.5\n"),
        delay("ranks = [0, 3]\nper_packet_ms = 0.375\npacket_bytes = 9\n"),
        delay("stages = [0, 1]\ntrace = \"delays.csv\"\n"), down("ranks = [2, 1]\npath = \"direct\"\n")}) {
    const std::string text = to_toml(traced_deck_of(fault));
    EXPECT_EQ(to_toml(parse_resolved_deck(text)), text);
  }
}

std::vector<Mistake> mistakes_of_links() {
  return {
      {kPipelines + "[[inject]]\ndelay_ms = 30\n", {}, "DECK:18:1: inject.0.kind is required"},
      {kPipelines, {"inject.0.delay_ms=30"}, "command line: inject.0: inject.0.kind is required"},
      {kPipelines + "[[inject]]\nkind = \"slow\"\n",
       {},
       "DECK:19:1: inject.0.kind = \"slow\" is not one of \"link_delay\", \"link_down\", \"slow_compute\""},
      {delay("delay_ms = 30\n"),
       {},
       "DECK:18:1: inject.0 needs stages = [i, i + 1], ranks = [a, b] or replicas = [a, b], one of them"},
      {delay("stages = [0, 1]\nranks = [0, 1]\ndelay_ms = 30\n"),
       {},
       "DECK:21:1: inject.0 needs stages = [i, i + 1], ranks = [a, b] or replicas = [a, b], one of them"},
      {down("path = \"direct\"\n"),
       {},
       "DECK:18:1: inject.0 needs stages = [i, i + 1] or ranks = [a, b], one of them"},
      {delay("stages = [0]\ndelay_ms = 30\n"),
       {},
       "DECK:20:1: inject.0.stages = [0] must be two neighbours, as in [0, 1]"},
      {delay("stages = [1, 1]\ndelay_ms = 30\n"),
       {},
       "DECK:20:1: inject.0.stages = [1, 1] must be two neighbours"},
      {delay("stages = [1, 2]\ndelay_ms = 30\n"),
       {},
       "DECK:20:1: inject.0.stages = [1, 2] is outside of the pipeline: it has 2 stages"},
      {delay("ranks = [2, 2]\ndelay_ms = 30\n"),
       {},
       "DECK:20:1: inject.0.ranks = [2, 2] must be two different ranks"},
      {delay("ranks = [0, 4]\ndelay_ms = 30\n"),
       {},
       "DECK:20:1: inject.0.ranks = [0, 4] is outside of the run: it has 4 ranks"},
      {delay("stages = [0, 1]\ndata = 2\ndelay_ms = 30\n"),
       {},
       "DECK:21:1: inject.0.data = 2 is no pipeline: there are 2"},
      {delay("ranks = [0, 1]\ndata = 1\ndelay_ms = 30\n"),
       {},
       "DECK:21:1: inject.0.data = 1 goes with stages; inject.0.ranks = [0, 1] is one link"},
      {delay("stages = [0, 1]\ndelay_ms = 30\nfrom_step = 5\nto_step = 4\n"),
       {},
       "DECK:23:1: inject.0.to_step = 4 is before inject.0.from_step = 5"},
      {delay("stages = [0, 1]\ndelay_ms = 30\nfrom_s = 5\nto_s = 4.5\n"),
       {},
       "DECK:23:1: inject.0.to_s = 4.5 is before inject.0.from_s = 5.0"},
      {delay("stages = [0, 1]\ndelay_ms = 30\nfrom_s = -1\n"),
       {},
       "DECK:22:1: inject.0.from_s = -1 is out of range: it must be at least 0"},
  };
}

std::vector<Mistake> mistakes_of_kinds() {
  const std::string ways =
      "a link_delay needs delay_ms, gbps or both, or per_packet_ms with packet_bytes, or trace, one of these "
      "three";
  return {
      {delay("stages = [0, 1]\n"), {}, "DECK:18:1: " + ways},
      {delay("stages = [0, 1]\ndelay_ms = 3\ntrace = \"delays.csv\"\n"), {}, "DECK:21:1: " + ways},
      {delay("stages = [0, 1]\ndelay_ms = 3\nper_packet_ms = 1\npacket_bytes = 9\n"),
       {},
       "DECK:21:1: " + ways},
      {delay("stages = [0, 1]\ngbps = 3\ntrace = \"delays.csv\"\n"), {}, "DECK:21:1: " + ways},
      {delay("stages = [0, 1]\ngbps = 3\nper_packet_ms = 1\npacket_bytes = 9\n"), {}, "DECK:21:1: " + ways},
      {delay("stages = [0, 1]\ngbps = 0\n"), {}, "DECK:21:1: " + ways},
      {down("stages = [0, 1]\npath = \"direct\"\ngbps = 3\n"),
       {},
       "DECK:22:1: inject.0.gbps = 3.0 needs inject.0.kind = \"link_delay\""},
      {delay("stages = [0, 1]\nper_packet_ms = 3\n"),
       {},
       "DECK:21:1: inject.0.per_packet_ms and inject.0.packet_bytes go together"},
      {delay("stages = [0, 1]\npacket_bytes = 3\n"),
       {},
       "DECK:21:1: inject.0.per_packet_ms and inject.0.packet_bytes go together"},
      {delay("stages = [0, 1]\ndelay_ms = -3\n"),
       {},
       "DECK:21:1: inject.0.delay_ms = -3 is out of range: it must be at least 0"},
      {delay("stages = [0, 1]\ndelay_ms = 3\npath = \"direct\"\n"),
       {},
       "DECK:22:1: inject.0.path = \"direct\" needs inject.0.kind = \"link_down\""},
      {down("stages = [0, 1]\n"),
       {},
       "DECK:19:1: a link_down needs inject.0.path = \"direct\" or an address"},
      {down("stages = [0, 1]\npath = \"@@\"\n"),
       {},
       "DECK:21:1: inject.0.path = \"@@\" is neither \"direct\" nor an address"},
      {down("stages = [0, 1]\npath = \"direct\"\ndelay_ms = 3\n"),
       {},
       "DECK:22:1: inject.0.delay_ms = 3.0 needs inject.0.kind = \"link_delay\""},
      {down("stages = [0, 1]\npath = \"direct\"\n") + "[[inject]]\nkind = \"link_delay\"\nstages = [0, 1]\n",
       {},
       "DECK:22:1: " + ways},
  };
}

std::vector<Mistake> mistakes_of_compute() {
  const std::string ways = "a slow_compute needs inject.0.factor or inject.0.trace, one of them";
  return {
      {slow("factor = 2\n"), {}, "DECK:19:1: a slow_compute needs inject.0.rank"},
      {slow("rank = 4\nfactor = 2\n"),
       {},
       "DECK:20:1: inject.0.rank = 4 is outside of the run: it has 4 ranks (tensor x pipeline x data), "
       "counted from 0"},
      {slow("rank = -1\nfactor = 2\n"),
       {},
       "DECK:20:1: inject.0.rank = -1 is outside of the run: it has 4 ranks"},
      {slow("rank = 0\nfactor = 2\nreplica = 1\n"),
       {},
       "DECK:22:1: inject.0.replica = 1 is outside of the run: it has 1 replica"},
      {slow("rank = 0\nfactor = 0.5\n"),
       {},
       "DECK:21:1: inject.0.factor = 0.5 is out of range: it must be at least 1"},
      {slow("rank = 0\nfactor = -2\n"),
       {},
       "DECK:21:1: inject.0.factor = -2 is out of range: it must be at least 0"},
      {slow("rank = 0\n"), {}, "DECK:19:1: " + ways},
      {slow("rank = 0\nfactor = 2\ntrace = \"delays.csv\"\n"), {}, "DECK:21:1: " + ways},
      {slow("rank = 0\nfactor = 2\ndelay_ms = 3\n"),
       {},
       "DECK:22:1: inject.0.delay_ms = 3.0 needs inject.0.kind = \"link_delay\""},
      {delay("stages = [0, 1]\ndelay_ms = 3\nfactor = 2\n"),
       {},
       "DECK:22:1: inject.0.factor = 2.0 needs inject.0.kind = \"slow_compute\""},
      {slow("rank = 0\nfactor = 2\n") + "[device]\nkind = \"cuda\"\n",
       {},
       "DECK:19:1: inject.0.kind = \"slow_compute\": slow_compute slows the CPU and the emulated device; a "
       "GPU's"},
  };
}

class InjectDeckMistakes : public testing::TestWithParam<Mistake> {};
TEST_P(InjectDeckMistakes, is_one_message_with_its_place_and_status_2) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(links, InjectDeckMistakes, testing::ValuesIn(mistakes_of_links()));
INSTANTIATE_TEST_SUITE_P(kinds, InjectDeckMistakes, testing::ValuesIn(mistakes_of_kinds()));

INSTANTIATE_TEST_SUITE_P(compute, InjectDeckMistakes, testing::ValuesIn(mistakes_of_compute()));

TEST(InjectDeck, reports_a_trace_that_is_missing_or_malformed_at_its_key_with_status_1) {
  const TemporaryFolder folder;
  const auto file = folder.write("d.toml", delay("stages = [0, 1]\ntrace = \"t.csv\"\n"));
  const std::string place = file.string() + ":21:1: inject.0.trace: ";
  const std::string trace = (folder.path() / "t.csv").string();
  const auto refused = [&](const std::string& why) {
    const auto [message, status] = error_of([&] { read_deck(file, {}); });
    EXPECT_EQ(message, place + why);
    EXPECT_EQ(status, 1);
  };
  refused("cannot open " + trace + ": No such file or directory");
  folder.write("t.csv", "seconds,delay_ms\n1,10\n1,20\n");
  refused(trace + ":3: times must ascend");
}

FaultTrace trace_of(const std::string& text) {
  const TemporaryFolder folder;
  return read_fault_trace(folder.write("t.csv", text), kTracedDelay);
}

/// The message after the file's name.
std::string refused(const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", text);
  const auto [message, status] = error_of([&] { read_fault_trace(file, kTracedDelay); });
  EXPECT_EQ(status, 1);
  EXPECT_TRUE(message.starts_with(file.string() + ":")) << message;
  return message.substr(file.string().size());
}

TEST(FaultTrace, is_a_step_function_whose_last_value_holds_for_ever) {
  const FaultTrace trace({{1, 10}, {2.5, 20}, {3, 0}, {4, 7}}, kTracedDelay);
  EXPECT_EQ(trace.value_at(0), 0);
  EXPECT_EQ(trace.value_at(0.999), 0);
  EXPECT_EQ(trace.value_at(1), 10);
  EXPECT_EQ(trace.value_at(2.4), 10);
  EXPECT_EQ(trace.value_at(2.5), 20);
  EXPECT_EQ(trace.value_at(3.9), 0);
  EXPECT_EQ(trace.value_at(4), 7);
  EXPECT_EQ(trace.value_at(1e9), 7);
}

TEST(FaultTrace, of_factors_begins_at_1_and_has_nothing_below) {
  EXPECT_EQ(FaultTrace({{1, 2.5}}, kTracedFactor).value_at(0.9), 1);
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", "seconds,factor\n0,1\n2,0.5\n");
  EXPECT_EQ(error_of([&] { read_fault_trace(file, kTracedFactor); }).first,
            file.string() + ":3: expected seconds,factor: two numbers, the second at least 1");
}

TEST(FaultTrace, is_read_with_or_without_a_header_whatever_the_line_ends) {
  for (const char* text : {"seconds,delay_ms\n0,1.5\n10,2e1\n", "0,1.5\n10,20",
                           "\xEF\xBB\xBF"
                           "0,1.5\n10,20",
                           "# made by hand\r\n\r\n"
                           " seconds , delay_ms\r\n 0 , 1.5\r\n"
                           "10,20.0\r\n"}) {
    const FaultTrace trace = trace_of(text);
    ASSERT_EQ(trace.points().size(), 2U) << text;
    EXPECT_EQ(trace.points()[0].value, 1.5);
    EXPECT_EQ(trace.points()[1].seconds, 10);
    EXPECT_EQ(trace.points()[1].value, 20);
  }
}

TEST(FaultTrace, names_the_line_of_what_it_cannot_read) {
  const std::string expected = ": expected seconds,delay_ms: two numbers, neither below 0";
  EXPECT_EQ(refused("0,1\n1\n"), ":2" + expected);
  EXPECT_EQ(refused("0,1,2\n"), ":1" + expected);
  EXPECT_EQ(refused("-1,1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,-1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,inf\n"), ":1" + expected);
  EXPECT_EQ(refused("0,nan\n"), ":1" + expected);
  EXPECT_EQ(refused("0,1e999\n"), ":1" + expected);
  EXPECT_EQ(refused("0,\n"), ":1" + expected);
  EXPECT_EQ(refused("time,delay\n0,1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,1\nseconds,delay_ms\n"), ":2" + expected);
  EXPECT_EQ(refused("seconds,delay_ms\n\n2,1\n1,1\n"), ":4: times must ascend");
  EXPECT_EQ(refused("0,1\n0,2\n"), ":2: times must ascend");
  EXPECT_EQ(refused("seconds,delay_ms\n"), ": holds no line of seconds,delay_ms");
  EXPECT_EQ(refused(""), ": holds no line of seconds,delay_ms");
}

}  // namespace
}  // namespace tenax::io::test
