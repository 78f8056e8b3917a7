// Everything that can be wrong with a deck or an override: one message, where it is, status 2.
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

std::vector<Mistake> mistakes_of_names() {
  return {
      {edited("train_steps", "trian_steps"),
       {},
       "DECK:2:1: unknown key run.trian_steps; did you mean run.train_steps?"},
      {edited("[optimizer]", "[optimiser]"),
       {},
       "DECK:13:2: unknown section [optimiser]; did you mean [optimizer]?"},
      {edited("train_steps", "lr"), {}, "DECK:2:1: unknown key run.lr; did you mean optimizer.lr?"},
      {edited("[run]\n", ""),
       {},
       "DECK:1:1: key train_steps is outside of any section; did you mean run.train_steps?"},
      {edited("[run]\ntrain_steps = 20\n", "run = 3\n"), {}, "DECK:1:1: run must be a section, [run]"},
      {with("[[inject]]\nkid = 1\n"), {}, "DECK:16:1: unknown key inject.0.kid; did you mean inject.kind?"},
      {with("[inject]\nkind = \"link_down\"\n"),
       {},
       "DECK:15:1: inject must be sections, each headed [[inject]]"},
      {kSmallDeck, {"rnu.seed=2"}, "command line: rnu.seed: unknown section [rnu]; did you mean [run]?"},
      {kSmallDeck, {"run.sed=2"}, "command line: run.sed: unknown key run.sed; did you mean run.seed?"},
      {kSmallDeck, {"seed=2"}, "command line: seed=2: expected section.key=value"},
      {kSmallDeck, {"run.seed"}, "command line: run.seed: expected section.key=value"},
      {kSmallDeck,
       {"run.output_dir=/u/Proj\xE9t"},
       "command line: run.output_dir: /u/Proj\uFFFDt is not UTF-8, which decks are"},
      {kSmallDeck, {"run.=2"}, "command line: run.=2: expected section.key=value"},
      {kSmallDeck, {"--seed=2.5"}, "command line: --seed=2.5: expected section.key=value"},
      {kSmallDeck, {"inject.delay_ms=2"}, "command line: inject.delay_ms=2: expected inject.N.key=value"},
      {kSmallDeck,
       {"inject.1.delay_ms=2"},
       "command line: inject.1.delay_ms: there are only 0 [[inject]] entries"},
  };
}

std::vector<Mistake> mistakes_of_types() {
  return {
      {edited("= 20", "= \"20\""), {}, "DECK:2:1: run.train_steps must be an integer, not the string \"20\""},
      {edited("= 20", "= 20.0"), {}, "DECK:2:1: run.train_steps must be an integer, not the number 20.0"},
      {edited("= 20", "= [20]"), {}, "DECK:2:1: run.train_steps must be an integer, not a list"},
      {edited("= 1e-3", "= true"), {}, "DECK:14:1: optimizer.lr must be a number, not true"},
      {edited("= 1e-3", "= nan"),
       {},
       "DECK:14:1: optimizer.lr must be a number, not infinity or not-a-number"},
      {edited("\"text.txt\"", "7"),
       {},
       "DECK:10:1: data.train must be a file, folder, pattern, or list of these and of {file = ..., weight = "
       "...}, "
       "not the integer 7"},
      {edited("\"text.txt\"", "[7]"), {}, "DECK:10:1: data.train must be a file, folder"},
      {edited("\"text.txt\"", "[\"a.txt\", \"\"]"), {}, "DECK:10:1: data.train has an entry without a file"},
      {edited("\"text.txt\"", "[{fiel = \"a.txt\"}]"),
       {},
       "DECK:10:1: data.train has an entry that is not {file"},
      {edited("\"text.txt\"", "[{weight = 1}]"), {}, "DECK:10:1: data.train has an entry without a file"},
      {edited("\"text.txt\"", "[{file = \"a.txt\", weight = 0}]"),
       {},
       "DECK:10:1: data.train has an entry whose weight is not greater than 0"},
      {with("[run.more]\n"), {}, "DECK:15:6: unknown key run.more"},
      {with("[comm]\ninterfaces = \"eth0\"\n"),
       {},
       "DECK:16:1: comm.interfaces must be a list of strings, not the string \"eth0\""},
      {with("[pipeline]\nactivation_limit = [1, 2.5]\n"),
       {},
       "DECK:16:1: pipeline.activation_limit must be an integer or list of integers, not the number 2.5"},
      {kSmallDeck,
       {"run.train_steps=2.5"},
       "command line: run.train_steps: run.train_steps must be an integer, not the number 2.5"},
      {kSmallDeck, {"run.train_steps=many"}, "command line: run.train_steps: \"many\" is not an integer"},
      {kSmallDeck, {"run.train_steps="}, "command line: run.train_steps: \"\" is not an integer"},
      {kSmallDeck, {"run.seed=1\nname = 2"}, "command line: run.seed: \"1\\nname = 2\" is not an integer"},
      {kSmallDeck, {"run.tensorboard=yes"}, "command line: run.tensorboard: \"yes\" is not true or false"},
      {edited("= 20", "= = 20"), {}, "DECK:2:15: not TOML: "},
      {edited("= 20", "= fals\n"), {}, "DECK:2:19: not TOML: "},
      {edited("train_steps", "\xFFtrain_steps"), {}, "DECK:"},
      {kSmallDeck, {"run.se\ned=2"}, "command line: run.se\\ned=2: expected section.key=value"},
      {edited("train_steps = 20", "train_steps = 20\ntrain_steps = 21"), {}, "DECK:3:"},
  };
}

std::vector<Mistake> mistakes_of_ranges() {
  return {
      {kSmallDeck,
       {"device.threads=0"},
       "command line: device.threads: device.threads = 0 is out of range: it must be in [1, 1024]"},
      {kSmallDeck,
       {"device.threads=1025"},
       "command line: device.threads: device.threads = 1025 is out of range: it must be in [1, 1024]"},
      {edited("= 20", "= 0"), {}, "DECK:2:1: run.train_steps = 0 is out of range: it must be at least 1"},
      {edited("= 20", "= 3000000000"),
       {},
       "DECK:2:1: run.train_steps = 3000000000 is out of range: it must be in [1, 2147483647]"},
      {edited("num_layers = 4", "num_layers = 1000000000"),
       {},
       "DECK:4:1: model.num_layers = 1000000000 is out of range: it must be in [1, 100000]"},
      {edited("hidden_size = 64", "hidden_size = 1000000000"),
       {},
       "DECK:5:1: model.hidden_size = 1000000000 is out of range: it must be in [1, 10000000]"},
      {kSmallDeck,
       {"model.vocab_size=10000001"},
       "command line: model.vocab_size: model.vocab_size = 10000001 is out of range: it must be in [1, "
       "10000000]"},
      {kSmallDeck, {"model.seq_length=10000001"}, "command line: model.seq_length: "},
      {kSmallDeck, {"model.ffn_hidden_size=40000001"}, "command line: model.ffn_hidden_size: "},
      {kSmallDeck, {"parallel.data_parallel_size=1000001"}, "command line: parallel.data_parallel_size: "},
      {with("adam_beta1 = 1\n"),
       {},
       "DECK:15:1: optimizer.adam_beta1 = 1 is out of range: it must be in [0, 1)"},
      {edited("= 1e-3", "= -1e-3"),
       {},
       "DECK:14:1: optimizer.lr = -0.001 is out of range: it must be at least 0"},
      {with("lr_warmup_steps = -1\n"), {}, "DECK:15:1: optimizer.lr_warmup_steps = -1 is out of range"},
      {with("[comm]\ndeadline_s = 0\n"),
       {},
       "DECK:16:1: comm.deadline_s = 0 is out of range: it must be greater than 0"},
      {with("[checkpoint]\ninterval = -2\n"),
       {},
       "DECK:16:1: checkpoint.interval = -2 is out of range: it must be at least -1"},
      {with("lr_schedule = \"cosin\"\n"),
       {},
       "DECK:15:1: optimizer.lr_schedule = \"cosin\" is not one of \"constant\", \"cosine\", \"linear\""},
      {kSmallDeck,
       {"pipeline.schedule=2f2b"},
       "command line: pipeline.schedule: pipeline.schedule = \"2f2b\" is not one of \"gpipe\", "},
      {kSmallDeck,
       {"run.seed=-1"},
       "command line: run.seed: run.seed = -1 is out of range: it must be at least 0"},
  };
}

std::vector<Mistake> missing_keys() {
  return {
      {edited("train_steps = 20\n", ""), {}, "DECK:1:1: run.train_steps is required"},
      {edited("lr = 1e-3\n", ""),
       {},
       "DECK:13:1: optimizer.lr is required, for example lr = 1e-3 in [optimizer]"},
      {edited("[optimizer]\nlr = 1e-3\n", ""), {}, "DECK:1:1: optimizer.lr is required"},
      {edited("train = \"text.txt\"\n", ""), {}, "DECK:9:1: data.train is required"},
      {edited("train = \"text.txt\"\n", "train = \"\"\n"), {}, "DECK:10:1: data.train is required"},
      {"", {}, "DECK:1:1: run.train_steps is required"},
  };
}

std::vector<Mistake> contradictions() {
  return {
      {edited("num_attention_heads = 4", "num_attention_heads = 5"),
       {},
       "DECK:5:1: model.hidden_size = 64 is not a multiple of model.num_attention_heads = 5"},
      {kSmallDeck,
       {"model.num_attention_heads=5"},
       "command line: model.num_attention_heads: model.hidden_size = 64 is not a multiple of"},
      {with("[parallel]\ntensor_parallel_size = 3\n"),
       {},
       "DECK:6:1: model.num_attention_heads = 4 is not a multiple of parallel.tensor_parallel_size = 3"},
      {edited("vocab_size = 256", "vocab_size = 256\nffn_hidden_size = 99"),
       {"parallel.tensor_parallel_size=2"},
       "command line: parallel.tensor_parallel_size: model.ffn_hidden_size = 99 is not a multiple of"},
      {with("[parallel]\npipeline_parallel_size = 5\n"),
       {},
       "DECK:16:1: parallel.pipeline_parallel_size = 5 stages need at least as many layers, but "
       "model.num_layers = 4"},
      {with("[parallel]\ndata_parallel_size = 3\n"),
       {},
       "DECK:12:1: batch.global_batch_size = 8 is not a multiple of batch.micro_batch_size x "
       "parallel.data_parallel_size = 1 x 3"},
      {with("[parallel]\ndata_parallel_size = 2\n"),
       {"batch.micro_batch_size=8"},
       "command line: batch.micro_batch_size: batch.global_batch_size = 8 is not a multiple of"},
      {edited("lr = 1e-3", "lr = 1e-3\nmin_lr = 2e-3"),
       {},
       "DECK:15:1: optimizer.min_lr = 0.002 is out of range: it must be at most optimizer.lr = 0.001"},
      {edited("lr = 1e-3", "lr = 1e-3\nmin_lr = 1e-3"),
       {"optimizer.lr=1e-5"},
       "command line: optimizer.lr: optimizer.min_lr = 0.001 is out of range"},
      {edited("num_layers = 4", "num_layers = 100000"),
       {"model.hidden_size=10000000"},
       "command line: model.hidden_size: a model of these sizes has 1.2000"},
      {kSmallDeck,
       {"batch.micro_batch_size=2000000000", "batch.global_batch_size=2000000000", "model.seq_length=10000"},
       "command line: batch.micro_batch_size: a micro-batch of batch.micro_batch_size = 2000000000 "
       "sequences"},
      {kSmallDeck, {"run.resume="}, "command line: run.resume: run.resume is empty"},
      {with("[pipeline]\nactivation_limit = [1, 2]\n"),
       {},
       "DECK:16:1: pipeline.activation_limit has 2 entries; it must be one number, or 1, one per stage"},
      {with("[pipeline]\nschedule = \"gpipe\"\nactivation_limit = 7\n[parallel]\npipeline_parallel_size = "
            "2\n"),
       {},
       "DECK:17:1: pipeline.schedule = \"gpipe\" holds 8 live activations on stage 0, more than "
       "pipeline.activation_limit = 7"},
      {with("[parallel]\npipeline_parallel_size = 3\n"),
       {"pipeline.schedule=1f1b", "pipeline.activation_limit=[3, 1, 1]"},
       "command line: pipeline.activation_limit: pipeline.schedule = \"1f1b\" holds 2 live activations on "
       "stage 1"},
      {kSmallDeck,
       {"pipeline.schedule=gpipe", "pipeline.activation_limit=1", "device.kind=cpu"},
       "command line: pipeline.activation_limit: pipeline.schedule = \"gpipe\" holds 8"},
      {with("[device]\nkind = \"cpu\"\ncuda_graph = true\n"),
       {},
       "DECK:17:1: device.cuda_graph = true needs device.kind = \"auto\" or \"cuda\""},
      {kSmallDeck,
       {"device.kind=cpu", "device.offload_optimizer=true"},
       "command line: device.offload_optimizer: device.offload_optimizer = true needs"},
      {std::string(kEmulatedDeck) + "stochastic_rounding = true\n",
       {},
       "DECK:10:1: device.stochastic_rounding = true needs"},
      {edited("text.txt", "text.csv"), {}, "DECK:10:1: data.train = "},
      {edited("\"text.txt\"", "[{file = \"a.txt\"}, {file = \"b.csv\"}]"), {}, "DECK:10:1: data.train = "},
      {kSmallDeck,
       {"data.tokenizer=gpt2"},
       "command line: data.tokenizer: data.tokenizer = \"gpt2\" needs data.vocab_dir"},
      {kSmallDeck, {"run.name=a/b"}, "command line: run.name: run.name = \"a/b\" cannot name a folder"},
  };
}

class DeckMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(DeckMistakes, is_one_message_with_its_place_and_status_2) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(names, DeckMistakes, testing::ValuesIn(mistakes_of_names()));
INSTANTIATE_TEST_SUITE_P(types, DeckMistakes, testing::ValuesIn(mistakes_of_types()));
INSTANTIATE_TEST_SUITE_P(ranges, DeckMistakes, testing::ValuesIn(mistakes_of_ranges()));
INSTANTIATE_TEST_SUITE_P(missing, DeckMistakes, testing::ValuesIn(missing_keys()));
INSTANTIATE_TEST_SUITE_P(contradictions, DeckMistakes, testing::ValuesIn(contradictions()));

TEST(DeckFile, that_is_absent_is_named_with_the_reason_and_status_2) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "absent.toml";
  const auto [message, status] = error_of([&] { read_deck(file, {}); });
  EXPECT_EQ(message, file.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(status, 2);
}

TEST(DeckFile, that_is_a_directory_is_named_with_the_reason_and_status_2) {
  const TemporaryFolder folder;
  const auto [message, status] = error_of([&] { read_deck(folder.path(), {}); });
  EXPECT_EQ(message, folder.path().string() + ": cannot open: Is a directory");
  EXPECT_EQ(status, 2);
}

// The resolved deck would name another folder, which the run would create.
TEST(DeckFile, in_a_folder_that_is_not_utf8_is_refused_at_the_key_of_a_path_in_it) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "Proj\xE9t");
  const auto file = folder.write("Proj\xE9t/d.toml", kSmallDeck);
  const auto [message, status] = error_of([&] { read_deck(file, {}); });
  EXPECT_NE(
      message.find(":10:1: data.train stands for \"" + folder.path().string() + "/Proj\uFFFDt/text.txt\""),
      std::string::npos)
      << message;
  EXPECT_EQ(status, 2);
  EXPECT_EQ(error_of([&] {
              read_deck(file, {"data.train=/data/text.txt", "data.vocab_dir=v"});
            }).first.find("command line: data.vocab_dir: data.vocab_dir stands for"),
            0U);
}

TEST(DeckFile, started_in_a_folder_that_is_not_utf8_is_refused_at_the_run_directory) {
  const TemporaryFolder folder;
  const auto file = folder.write("d.toml", kSmallDeck), before = std::filesystem::current_path();
  std::filesystem::create_directory(folder.path() / "Proj\xE9t");
  std::filesystem::current_path(folder.path() / "Proj\xE9t");
  const auto [message, status] = error_of([&] { read_deck(file, {}); });
  std::filesystem::current_path(before);
  EXPECT_TRUE(message.starts_with(file.string() + ":1:")) << message;
  EXPECT_NE(message.find("run.output_dir stands for"), std::string::npos) << message;
  EXPECT_EQ(status, 2);
}

TEST(DeckFile, reports_the_first_of_several_mistakes_in_reading_order) {
  const TemporaryFolder folder;
  const auto file = folder.write("d.toml", replaced(edited("= 20", "= 0"), "num_layers", "a_layers"));
  EXPECT_EQ(error_of([&] { read_deck(file, {}); }).first.substr(file.string().size(), 5), ":2:1:");
}

}  // namespace
}  // namespace tenax::io::test
