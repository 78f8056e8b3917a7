#include "io/deck/deck.hpp"

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(Deck, leaves_defaults_of_the_contract_where_nothing_is_said) {
  const Deck deck = deck_of(kSmallDeck);
  EXPECT_EQ(deck.run.seed, 1);
  EXPECT_EQ(deck.run.log_interval, 1);
  EXPECT_EQ(deck.run.eval_interval, 0);
  EXPECT_EQ(deck.run.eval_steps, 20);
  EXPECT_EQ(deck.run.profile_interval, 0);
  EXPECT_EQ(deck.run.max_minutes, 0);
  EXPECT_EQ(deck.run.resume, "auto");
  EXPECT_EQ(deck.model.compute_dtype.word(), "fp32");
  EXPECT_TRUE(deck.data.validation.empty());
  EXPECT_EQ(deck.data.order, "shuffled");
  EXPECT_EQ(deck.batch.micro_batch_size, 1);
  EXPECT_EQ(deck.optimizer.min_lr, 0);
  EXPECT_EQ(deck.optimizer.lr_schedule.word(), "cosine");
  EXPECT_EQ(deck.optimizer.weight_decay, 0.1);
  EXPECT_EQ(deck.optimizer.adam_beta1, 0.9);
  EXPECT_EQ(deck.optimizer.adam_beta2, 0.95);
  EXPECT_EQ(deck.optimizer.adam_eps, 1e-8);
  EXPECT_EQ(deck.optimizer.clip_grad, 1.0);
  EXPECT_EQ(deck.parallel.ranks(), 1);
  EXPECT_EQ(deck.parallel.replicas, 1);
  EXPECT_EQ(deck.pipeline.schedule.word(), "adaptive");
  EXPECT_EQ(deck.pipeline.p2p.word(), "auto");
  EXPECT_TRUE(deck.pipeline.activation_limit.empty());
  EXPECT_EQ(deck.comm.transport.word(), "auto");
  EXPECT_EQ(deck.comm.deadline_s, 60);
  EXPECT_EQ(deck.device.kind.word(), "auto");
  EXPECT_EQ(deck.checkpoint.interval, 0);
  EXPECT_EQ(deck.checkpoint.keep, 3);
}

TEST(Deck, resolves_defaults_that_depend_on_other_keys) {
  const Deck deck = deck_of(kSmallDeck);
  const auto working_folder = std::filesystem::current_path();
  EXPECT_EQ(deck.run.name, "d");
  EXPECT_EQ(deck.run.output_dir, working_folder / "runs/d");
  EXPECT_EQ(deck.checkpoint.dir, working_folder / "runs/d/checkpoints");
  EXPECT_EQ(deck.model.ffn_hidden_size, 256);
  EXPECT_EQ(deck.optimizer.lr_decay_steps, 20);
}

TEST(Deck, of_another_version_is_none) {
  const std::string text = to_toml(deck_of(kSmallDeck));
  ASSERT_TRUE(readable_deck(text));
  EXPECT_EQ(to_toml(*readable_deck(text)), text);
  EXPECT_FALSE(readable_deck(text + "[of_the_future]\nkey = 1\n"));
  EXPECT_FALSE(readable_deck(""));
}

// cat link/../text.txt reads real/text.txt.
TEST(Deck, means_by_two_dots_behind_a_link_the_folder_that_the_system_opens) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "real" / "deep");
  std::filesystem::create_directory_symlink("real/deep", folder.path() / "link");
  folder.write("link/a.toml", kSmallDeck);
  const Deck deck = read_deck(
      folder.path() / "link/a.toml",
      {"data.train=../text.txt", "data.validation=../../link/./../v.txt", "model.init_weights=w.safetensors",
       "run.resume=x/../../old.h5", "checkpoint.dir=" + folder.path().string() + "/link/../../link/ckpt"});
  const auto real = folder.path() / "real";
  EXPECT_EQ(deck.data.train.front().file, real / "text.txt");
  EXPECT_EQ(deck.data.validation.front().file, real / "v.txt");
  EXPECT_EQ(deck.run.resume, real / "old.h5");
  EXPECT_EQ(deck.model.init_weights, folder.path() / "link/w.safetensors");
  EXPECT_EQ(deck.checkpoint.dir, folder.path() / "link/ckpt");
}

TEST(Deck, finds_files_from_the_deck_and_directories_from_the_working_directory) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.toml", kSmallDeck);
  const Deck deck = read_deck(
      file, {"data.train=../x/text.txt", "data.validation=/v/text.txt", "model.init_weights=w.safetensors",
             "run.output_dir=out/./b", "checkpoint.dir=ckpt", "run.resume=old/step-000020.h5"});
  const auto working_folder = std::filesystem::current_path();
  EXPECT_EQ(deck.data.train.front().file, folder.path().parent_path() / "x/text.txt");
  EXPECT_EQ(deck.data.validation.front().file, "/v/text.txt");
  EXPECT_EQ(deck.model.init_weights, folder.path() / "w.safetensors");
  EXPECT_EQ(deck.run.resume, folder.path() / "old/step-000020.h5");
  EXPECT_EQ(deck.run.output_dir, working_folder / "out/b");
  EXPECT_EQ(deck.checkpoint.dir, working_folder / "ckpt");
}

// As a shell completes it: other names are made of these.
TEST(Deck, takes_directories_with_a_slash_at_their_end_as_without) {
  const Deck deck = deck_of(kSmallDeck, {"run.output_dir=out/b/", "checkpoint.dir=out/b"});
  EXPECT_EQ(deck.run.output_dir, deck.checkpoint.dir);
  EXPECT_EQ(deck_of(kSmallDeck, {"run.output_dir=."}).run.output_dir, std::filesystem::current_path());
}

TEST(Deck, takes_the_checkpoints_of_a_resolved_deck_along_with_another_output_dir) {
  const auto checkpoints_of = [](const std::vector<std::string>& first,
                                 const std::vector<std::string>& then) {
    const TemporaryFolder folder;
    const auto file = folder.write("deck.toml", to_toml(deck_of(kSmallDeck, first)));
    return read_deck(file, then).checkpoint.dir;
  };
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(checkpoints_of({"run.output_dir=/a"}, {}), "/a/checkpoints");
  EXPECT_EQ(checkpoints_of({"run.output_dir=/a"}, {"run.output_dir=b"}), here + "/b/checkpoints");
  EXPECT_EQ(checkpoints_of({"run.name=a"}, {"run.name=b"}), here + "/runs/a/checkpoints")
      << "as output_dir does";
  EXPECT_EQ(checkpoints_of({"run.output_dir=/a", "checkpoint.dir=/c"}, {"run.output_dir=/b"}), "/c");
  EXPECT_EQ(checkpoints_of({"run.output_dir=/a"}, {"run.output_dir=/b", "checkpoint.dir=/a/checkpoints"}),
            "/a/checkpoints");
}

TEST(Deck, has_a_least_rate_above_its_rate_where_nothing_decays_and_in_a_run_of_earlier) {
  const std::vector<std::string> rates = {"optimizer.lr=1e-5", "optimizer.min_lr=1e-3"};
  std::vector<std::string> constant = rates;
  constant.emplace_back("optimizer.lr_schedule=constant");
  EXPECT_EQ(deck_of(kSmallDeck, constant).optimizer.lr, 1e-5);
  Deck of_earlier = deck_of(kSmallDeck);
  of_earlier.optimizer.min_lr = 1;
  EXPECT_EQ(parse_resolved_deck(to_toml(of_earlier)).optimizer.min_lr, 1);
}

TEST(Deck, takes_overrides_by_the_type_of_their_key) {
  const Deck deck =
      deck_of(kSmallDeck, {"run.train_steps=7", "run.name=two words", "run.output_dir=\"out\"",
                           "optimizer.lr=3", "optimizer.adam_eps = 1e-6", "pipeline.activation_limit=[2, 1]",
                           "run.tensorboard=false", "parallel.pipeline_parallel_size=2",
                           "data.order=sequential", "data.train=[{file = \"b.bin\", weight = 2}]"});
  EXPECT_EQ(deck.run.train_steps, 7);
  EXPECT_EQ(deck.run.name, "two words");
  EXPECT_EQ(std::filesystem::path(deck.run.output_dir).filename(), "out");
  EXPECT_EQ(deck.optimizer.lr, 3.0);
  EXPECT_EQ(deck.optimizer.adam_eps, 1e-6);
  EXPECT_EQ(deck.pipeline.activation_limit, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(deck.data.order, "sequential");
  EXPECT_EQ(std::filesystem::path(deck.data.train.front().file).filename(), "b.bin");
  EXPECT_EQ(deck.data.train.front().weight, 2.0);
}

TEST(Deck, takes_several_token_files_of_all_kinds_with_weights) {
  const Deck deck = deck_of(
      kSmallDeck,
      {"data.train=[{file = \"a.txt\"}, {file = \"b.bin\", weight = 3}, {file = \"c.h5\", weight = 0.5}, "
       "\"d\"]",
       "data.tokenizer=gpt2", "data.vocab_dir=gpt2"});
  ASSERT_EQ(deck.data.train.size(), 4U);
  EXPECT_EQ(deck.data.train[0].weight, 0.0);  // its tokens
  EXPECT_EQ(deck.data.train[1].weight, 3.0);
  EXPECT_EQ(std::filesystem::path(deck.data.train[2].file).filename(), "c.h5");
  const Deck again = parse_resolved_deck(to_toml(deck));
  EXPECT_EQ(again.data.train[2].weight, 0.5);
  EXPECT_EQ(again.data.train[3].weight, 0.0);
  EXPECT_EQ(again.data.train[3].file, deck.data.train[3].file);
  EXPECT_EQ(again.data.vocab_dir, deck.data.vocab_dir);
}

TEST(Deck, takes_folders_patterns_and_lists_of_names_for_token_files) {
  for (const char* value :
       {"shards", "v1.2/", "shards/*.bin", "train-?????.h5", "[a.txt, b.bin]", "[a.txt, shards/*.bin]"}) {
    const Deck deck = deck_of(kSmallDeck, {std::string("data.train=") + value});
    EXPECT_EQ(deck.data.train.size(), value[0] == '[' ? 2U : 1U) << value;
    for (const DataSource& source : deck.data.train) EXPECT_TRUE(source.file.starts_with('/')) << source.file;
  }
}

TEST(Deck, needs_no_vocabulary_for_tokens_that_are_there) {
  EXPECT_NO_THROW(deck_of(edited("text.txt", "text.bin"), {"data.tokenizer=gpt2"}));
}

TEST(Deck, takes_the_last_of_several_overrides) {
  EXPECT_EQ(deck_of(kSmallDeck, {"run.seed=5", "run.seed=6"}).run.seed, 6);
}

TEST(Deck, lets_an_override_undo_what_the_deck_asks_of_later_versions) {
  const std::string deck = std::string(kSmallDeck) + "[replicas]\ndigest_steps = 2\n";
  EXPECT_EQ(deck_of(deck, {"replicas.digest_steps=16"}).replicas.digest_steps, 16);
}

TEST(Deck, takes_an_integer_for_a_number_and_one_number_for_a_list) {
  const Deck deck =
      deck_of(std::string(kSmallDeck) + "[comm]\ndeadline_s = 5\n[pipeline]\nactivation_limit = 3\n");
  EXPECT_EQ(deck.comm.deadline_s, 5.0);
  EXPECT_EQ(deck.pipeline.activation_limit, std::vector<std::int64_t>{3});
}

TEST(Deck, takes_an_activation_limit_of_zero_as_none) {
  EXPECT_TRUE(deck_of(kSmallDeck, {"pipeline.activation_limit=0"}).pipeline.activation_limit.empty());
}

TEST(Deck, accepts_every_choice_this_version_honours) {
  for (const char* choice :
       {"pipeline.schedule=gpipe", "pipeline.schedule=1f1b", "pipeline.schedule=zero_bubble",
        "pipeline.p2p=direct", "pipeline.p2p=delegated", "comm.transport=tcp", "comm.transport=shm",
        "comm.interfaces=[ib0, 10.0.0.1]", "comm.sockets_per_link=4", "device.kind=cpu", "device.kind=cuda",
        "model.compute_dtype=bf16", "optimizer.lr_schedule=constant", "optimizer.lr_schedule=linear",
        "run.resume=never", "checkpoint.interval=-1", "checkpoint.keep=0", "optimizer.clip_grad=0",
        "model.vocab_size=50257"}) {
    EXPECT_NO_THROW(deck_of(kSmallDeck, {choice})) << choice;
  }
}

TEST(Deck, comes_back_the_same_from_its_resolved_text) {
  const Deck deck = deck_of(
      kSmallDeck, {"optimizer.lr=0.1000000000000000055", "optimizer.adam_eps=1e-300",
                   "optimizer.weight_decay=12345678901234567890.0", "run.seed=9223372036854775807",
                   "run.name=quote \" backslash \\ caf\xC3\xA9", "pipeline.activation_limit=[2,0]",
                   "parallel.pipeline_parallel_size=2", "optimizer.lr_decay_steps=7", "run.max_minutes=0.1"});
  const std::string text = to_toml(deck);
  const Deck again = parse_resolved_deck(text);
  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.optimizer.lr, 0.1);
  EXPECT_EQ(again.optimizer.adam_eps, 1e-300);
  EXPECT_EQ(again.optimizer.weight_decay, 12345678901234567890.0);
  EXPECT_EQ(again.run.seed, 9223372036854775807);
  EXPECT_EQ(again.run.name, deck.run.name);
  EXPECT_EQ(again.run.output_dir, deck.run.output_dir);
  EXPECT_EQ(again.data.train.front().file, deck.data.train.front().file);
  EXPECT_EQ(again.pipeline.activation_limit, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(again.optimizer.lr_decay_steps, 7);
}

TEST(Deck, keeps_the_weight_of_a_file_in_its_resolved_text) {
  const Deck deck = deck_of(kSmallDeck, {"data.train=[{file = \"b.bin\", weight = 2.5}]"});
  EXPECT_EQ(parse_resolved_deck(to_toml(deck)).data.train.front().weight, 2.5);
}

}  // namespace
}  // namespace tenax::io::test
