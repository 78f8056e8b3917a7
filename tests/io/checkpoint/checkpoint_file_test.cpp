#include "io/checkpoint/checkpoint_file.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/checksum.hpp"
#include "io/hdf5_attribute.hpp"
#include "io/posix_file.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::io {
namespace {

const CheckpointOrigin kOrigin = {"gpt2", "0123456789abcdef", "bf16", "1.2.3", "4f5e-dirty"};
constexpr char kDeck[] = "[run]\nname = \"tiny\" # \xC3\xA4\n";

class CheckpointFile : public DirectoryTest {
 protected:
  std::filesystem::path write(const std::string& name = "step-000020.h5") {
    CheckpointInfo info;
    info.step = 20;
    info.model = kTinyModel;
    info.deck = kDeck;
    info.origin = kOrigin;
    info.next_sample = 160;
    write_checkpoint(directory_ / name, info, state_.ranges);
    return directory_ / name;
  }
  std::string verdict(const std::filesystem::path& file) {
    return error_of([&] { verify_seal(file); });
  }
  WholeState state_{kTinyModel};
};

TEST_F(CheckpointFile, holds_what_was_written_and_nothing_lies_beside_it) {
  const auto file = write();
  const CheckpointInfo info = open_checkpoint(file);
  EXPECT_EQ(info.step, 20);
  EXPECT_EQ(info.model, kTinyModel);
  EXPECT_EQ(info.deck, kDeck);
  EXPECT_EQ(info.origin, kOrigin);
  EXPECT_EQ(info.next_sample, 160);
  EXPECT_EQ(info.parameters.size(), state_.ranges.size());
  WholeState read(kTinyModel, 1);
  ASSERT_NE(read.memory, state_.memory);
  read_checkpoint(file, info, read.ranges);
  EXPECT_EQ(read.memory, state_.memory);
  EXPECT_EQ(names_in(directory_), std::vector<std::string>{"step-000020.h5"});
}

// By the library alone, as h5py or HDFView would.
TEST_F(CheckpointFile, is_read_by_plain_hdf5) {
  const auto path = write();
  const Hdf5Session session;
  const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), H5Fclose);
  for (const StateRange& range : state_.ranges) {
    for (const StatePart& part : range.parts) {
      const std::string name = part.group + "/" + range.name;
      const Hdf5Id dataset(TENAX_HDF5(H5Dopen2(file, name.c_str(), H5P_DEFAULT)), H5Dclose);
      std::vector<float> values(static_cast<std::size_t>(range.count));
      ASSERT_EQ(H5Dget_storage_size(dataset), values.size() * 4) << name;
      TENAX_HDF5(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
      EXPECT_EQ(std::memcmp(values.data(), part.data, values.size() * 4), 0) << name;
      std::uint64_t checksum = 0;
      const Hdf5Id attribute(TENAX_HDF5(H5Aopen(dataset, "checksum", H5P_DEFAULT)), H5Aclose);
      TENAX_HDF5(H5Aread(attribute, H5T_NATIVE_UINT64, &checksum));
      EXPECT_EQ(checksum, checksum_of_words(values.data(), range.count, 0)) << name;
    }
  }
}

TEST_F(CheckpointFile, is_listed_by_h5ls_from_another_directory) {
  const auto path = write();
  if (std::system("command -v h5ls >/dev/null") != 0) GTEST_SKIP() << "h5ls is not installed (hdf5-tools)";
  const std::string command =
      "cd / && h5ls -r '" + path.string() + "' > '" + (directory_ / "list").string() + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string list = read_file(directory_ / "list");
  EXPECT_NE(list.find("/model/h.0.attn.c_attn.weight Dataset {8, 24}"), std::string::npos) << list;
  EXPECT_NE(list.find("/optimizer/exp_avg_sq/wte.weight Dataset {13, 8}"), std::string::npos) << list;
}

TEST_F(CheckpointFile, of_the_same_state_has_the_same_bytes) {
  EXPECT_EQ(read_file(write("a.h5")), read_file(write("b.h5")));
}

/// A seal that fits whatever the file holds now.
void seal_again(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_to_write(path);
  const std::string seal =
      render({file.size(), checksum_of_file(PosixFile::open_to_read(path), {kSealBytes, file.size()})});
  file.write(std::as_bytes(std::span(seal)), 0);
}

void set_attribute(const std::filesystem::path& path, const char* name, std::int64_t value) {
  {
    const Hdf5Session session;
    const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose);
    const Hdf5Id attribute(TENAX_HDF5(H5Aopen(file, name, H5P_DEFAULT)), H5Aclose);
    TENAX_HDF5(H5Awrite(attribute, H5T_NATIVE_INT64, &value));
  }
  seal_again(path);
}

TEST_F(CheckpointFile, with_sizes_that_cannot_be_is_refused) {
  const auto path = write();
  std::vector<std::string> names = {"step"};
  for (const ModelSize& size : kModelSizes) names.emplace_back(size.name);
  for (const std::string& name : names) {
    const CheckpointInfo info = open_checkpoint(path);
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
      set_attribute(path, name.c_str(), value);
      EXPECT_EQ(error_of([&] { open_checkpoint(path); })
                    .find("cannot read the checkpoint " + path.string() + ": its attribute " + name + " = " +
                          std::to_string(value) + " is out of range: it must be "),
                0U);
    }
    if (name != "step") {
      set_attribute(path, name.c_str(), 0);
      EXPECT_NE(error_of([&] { open_checkpoint(path); }).find(name + " = 0 is out of range"),
                std::string::npos);
    }
    write();
  }
}

TEST_F(CheckpointFile, with_sizes_that_its_tensors_have_not_is_refused) {
  const auto refusal = [&](const char* name, std::int64_t value) {
    const auto path = write();
    set_attribute(path, name, value);
    return error_of([&] { inspect(path); });
  };
  EXPECT_NE(
      refusal("num_layers", 3).find("it has 28 tensors, but its attribute num_layers = 3 makes them 40"),
      std::string::npos);
  EXPECT_NE(refusal("hidden_size", 12)
                .find("its tensor wte.weight has the shape [13, 8], but its attributes "
                      "make that [13, 12]"),
            std::string::npos);
  EXPECT_NE(refusal("ffn_hidden_size", 31).find("its tensor h.0.mlp.c_fc.weight has the shape [8, 32]"),
            std::string::npos);
  EXPECT_NE(refusal("num_attention_heads", 3).find("num_attention_heads = 3 does not divide hidden_size = 8"),
            std::string::npos);
  EXPECT_NE(refusal("next_sample", -5).find("next_sample = -5 is negative"), std::string::npos);
}

/// As tenax 0.1.0 wrote it: format 1 has no origin, and its deck is of variable length.
void make_format_1(const std::filesystem::path& path) {
  {
    const Hdf5Session session;
    const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose);
    for (const char* name : {"format_version", "deck", "next_sample"}) TENAX_HDF5(H5Adelete(file, name));
    for (const OriginText& text : kOriginTexts) TENAX_HDF5(H5Adelete(file, text.name));
    write_attribute(file, "format_version", std::int64_t{1});
    const Hdf5Id type(TENAX_HDF5(H5Tcopy(H5T_C_S1)), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
    TENAX_HDF5(H5Tset_size(type, H5T_VARIABLE));
    const Hdf5Id deck(TENAX_HDF5(H5Acreate2(file, "deck", type, space, H5P_DEFAULT, H5P_DEFAULT)), H5Aclose);
    const char* const text = kDeck;
    TENAX_HDF5(H5Awrite(deck, type, &text));
  }
  seal_again(path);
}

TEST_F(CheckpointFile, of_the_first_format_is_still_read) {
  const auto path = write();
  make_format_1(path);
  const CheckpointInfo info = open_checkpoint(path);
  EXPECT_EQ(info.step, 20);
  EXPECT_EQ(info.deck, kDeck);
  EXPECT_EQ(info.origin, CheckpointOrigin());
  EXPECT_FALSE(info.next_sample.has_value());
  EXPECT_EQ(inspect(path).find("tokenizer"), std::string::npos);
}

TEST_F(CheckpointFile, that_finds_no_descriptor_says_what_helps) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int next = dup(STDIN_FILENO);
  close(next);
  const rlimit two_more{static_cast<rlim_t>(next) + 2,
                        limit.rlim_max};  // the file and its layout, none for HDF5
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &two_more), 0);
  const std::string message = error_of([&] { write(); });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_NE(message.find("allow more: ulimit -n"), std::string::npos) << message;
}

TEST_F(CheckpointFile, has_a_group_for_each_moment_that_there_is) {
  const auto file = directory_ / "lion.h5";
  CheckpointInfo info;
  info.model = kTinyModel;
  const WholeState lion(kTinyModel, 0, kLionGroups);
  write_checkpoint(file, info, lion.ranges);
  EXPECT_EQ(open_checkpoint(file).groups(), kLionGroups);
  EXPECT_LT(std::filesystem::file_size(file), std::filesystem::file_size(write()));
  const std::string text = inspect(file);
  EXPECT_NE(text.find("checksum of value, exp_avg\n"), std::string::npos) << text;
  EXPECT_NE(text.find("of the file and of 56 tensors verified"), std::string::npos) << text;
}

// As a run removes it while a command reads it.
TEST_F(CheckpointFile, is_verified_and_read_while_it_is_open_though_its_name_is_gone) {
  const PosixFile file = PosixFile::open_to_read(write());
  std::filesystem::remove(file.path());
  EXPECT_NO_THROW(verify_seal(file));
  EXPECT_EQ(read_checkpoint_info(file).step, 20);
}

/// The format_version of a file.
std::int64_t format_of(const std::filesystem::path& path) {
  const Hdf5Session session;
  const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), H5Fclose);
  return read_integer_attribute(file, "format_version");
}

// So that a tenax which looks for both of AdamW's moments says that it cannot read the file.
TEST_F(CheckpointFile, has_a_format_of_its_own_with_other_moments_than_adamws) {
  EXPECT_EQ(format_of(write()), 2);
  const WholeState lion(kTinyModel, 0, kLionGroups);
  write_checkpoint(directory_ / "lion.h5", {}, lion.ranges);
  EXPECT_EQ(format_of(directory_ / "lion.h5"), 3);
}

TEST_F(CheckpointFile, is_read_by_whoever_needs_other_moments) {
  const auto adamw_file = write(), lion_file = directory_ / "lion.h5";
  const WholeState lion(kTinyModel, 0, kLionGroups);
  CheckpointInfo info;
  info.model = kTinyModel;
  write_checkpoint(lion_file, info, lion.ranges);

  WholeState fewer(kTinyModel, 1, kLionGroups), more(kTinyModel, 1);
  read_checkpoint(adamw_file, open_checkpoint(adamw_file), fewer.ranges);
  EXPECT_EQ(fewer.memory, lion.memory) << "what is not needed is left";
  read_checkpoint(lion_file, open_checkpoint(lion_file), more.ranges);
  for (std::size_t i = 0; i < more.ranges.size(); ++i) {
    EXPECT_EQ(more.memory[3 * i], lion.memory[2 * i]);
    EXPECT_EQ(more.memory[3 * i + 1], lion.memory[2 * i + 1]);
    EXPECT_EQ(more.memory[3 * i + 2], std::vector<float>(more.memory[3 * i + 2].size()))
        << "what is missing is zero";
  }
}

TEST_F(CheckpointFile, keeps_a_deck_longer_than_an_object_header) {
  CheckpointInfo info;
  info.model = kTinyModel;
  info.deck = std::string(300'000, 'x') + "\xC3\xA4";
  write_checkpoint(directory_ / "long.h5", info, state_.ranges);
  EXPECT_EQ(open_checkpoint(directory_ / "long.h5").deck, info.deck);
}

// Text of variable length lies in a global heap, in which HDF5 loops for ever where it is damaged.
TEST_F(CheckpointFile, has_no_global_heap) { EXPECT_EQ(read_file(write()).find("GCOL"), std::string::npos); }

TEST_F(CheckpointFile, travels_between_ranks_with_its_origin) {
  const CheckpointInfo info = parse_info(to_text(open_checkpoint(write())));
  EXPECT_EQ(info.origin, kOrigin);
  EXPECT_EQ(info.next_sample, 160);
  EXPECT_FALSE(parse_info(to_text(CheckpointInfo())).next_sample.has_value());
}

// All of them: seal, padding, metadata, elements. One block, for the time is quadratic in the bytes.
TEST_F(CheckpointFile, with_any_one_byte_changed_is_refused) {
  const WholeState state({1, 4, 1, 4, 2, 3});
  const auto path = directory_ / "small.h5";
  write_checkpoint(path, {}, state.ranges);
  const PosixFile file = PosixFile::open_to_write(path);
  std::string bytes = read_file(path);
  ASSERT_EQ(verdict(path), "");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto write_byte = [&](char byte) {
      file.write(std::as_bytes(std::span(&byte, 1)), static_cast<std::int64_t>(i));
    };
    write_byte(static_cast<char>(bytes[i] ^ 1 << i % 8));
    const std::string error = verdict(path);
    ASSERT_NE(error, "") << "byte " << i;
    ASSERT_NE(error.find(path.string()), std::string::npos) << error;
    write_byte(bytes[i]);
  }
  EXPECT_EQ(verdict(path), "");
}

TEST_F(CheckpointFile, cut_anywhere_is_refused_and_the_message_says_by_how_much) {
  const auto path = write();
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  for (std::int64_t length = size - 1; length >= 0; length -= length > size - 100 ? 1 : 37) {
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(length));
    const std::string error = verdict(path);
    ASSERT_NE(error.find("is truncated: it has " + std::to_string(length) + " bytes, but should have "),
              std::string::npos)
        << error;
    ASSERT_TRUE(length < 100 || error.find("should have " + std::to_string(size)) != std::string::npos)
        << error;
  }
}

TEST_F(CheckpointFile, with_bytes_appended_is_refused) {
  const auto path = write();
  std::ofstream(path, std::ios::app) << '\0';
  EXPECT_NE(verdict(path).find("is damaged: it has "), std::string::npos);
}

TEST_F(CheckpointFile, that_is_none_is_called_so) {
  EXPECT_NE(verdict(directory_ / "absent.h5").find("absent.h5: No such file"), std::string::npos);
  write_file(directory_ / "text", std::string(10000, 'x'));
  EXPECT_NE(verdict(directory_ / "text").find("is not a tenax checkpoint"), std::string::npos);
  EXPECT_NE(verdict(directory_).find("Is a directory"), std::string::npos);
}

TEST_F(CheckpointFile, before_its_seal_is_no_checkpoint) {
  CheckpointInfo info;
  info.model = kTinyModel;
  info.parameters = merge_contributions({contributions_of(state_.ranges)});
  create_checkpoint_file(directory_ / "x.h5", directory_ / "x.h5", info);
  EXPECT_NE(verdict(directory_ / "x.h5").find("is not a tenax checkpoint"), std::string::npos);
}

TEST_F(CheckpointFile, shares_of_ranks_cover_every_byte_once) {
  for (const std::int64_t bytes : {kSealBytes, kSealBytes + 1, kSealBytes + 4, kSealBytes + 1023}) {
    for (const int ranks : {1, 2, 3, 7}) {
      std::int64_t at = kSealBytes;
      for (int rank = 0; rank < ranks; ++rank) {
        const ByteRange share = share_of_file({bytes, 0}, rank, ranks);
        EXPECT_TRUE(share.begin == at || share.begin >= share.end) << share.begin;
        EXPECT_EQ(share.begin % 4, 0);
        at = std::max(at, share.end);
      }
      EXPECT_EQ(at, bytes) << bytes << " bytes, " << ranks << " ranks";
    }
  }
}

TEST_F(CheckpointFile, of_another_model_is_refused_by_the_first_size_that_differs) {
  ModelSizes other = kTinyModel;
  other.hidden_size = 16;
  other.vocab_size = 99;
  EXPECT_EQ(error_of([&] { check_same_model("a.h5", kTinyModel, other); }),
            "a.h5 holds another model: its hidden_size is 8, but should be 16");
}

TEST_F(CheckpointFile, inspection_names_step_model_and_tensors) {
  const auto path = write();
  const std::string text = inspect(path);
  for (const char* part :
       {"step                20", "vocab_size          13", "next_sample         160",
        "tokenizer           gpt2", "vocabulary_checksum 0123456789abcdef", "commit              4f5e-dirty",
        "h.1.mlp.c_proj.weight", "[32, 8]", "verified"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_NO_THROW(verify_checkpoint(path));
}

// A seal that fits the bytes, around a tensor that does not fit its checksum.
TEST_F(CheckpointFile, inspection_checks_every_tensor) {
  const auto path = write();
  const CheckpointInfo info = open_checkpoint(path);
  const PosixFile file = PosixFile::open_to_write(path);
  const float other = 7;
  file.write(std::as_bytes(std::span(&other, 1)), info.find("wpe.weight")->parts[1].offset + 4);
  seal_again(path);
  EXPECT_EQ(verdict(path), "");
  EXPECT_NE(error_of([&] { inspect(path); }).find("/optimizer/exp_avg/wpe.weight"), std::string::npos);
}

TEST_F(CheckpointFile, is_not_written_from_ranges_that_leave_elements_out) {
  state_.ranges.back().count -= 1;
  EXPECT_NE(error_of([&] { write(); }, kernels::Scope::job).find("7 of the 8 elements of ln_f.bias"),
            std::string::npos);
  EXPECT_TRUE(names_in(directory_).empty());
}

}  // namespace
}  // namespace tenax::io
