#include "io/file_names.hpp"

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<std::filesystem::path>& files) {
  Names names;
  for (const auto& file : files) names.push_back(file.filename().string());
  return names;
}

TEST(TokenNames, a_folder_stands_for_its_token_files_by_name) {
  const TemporaryFolder folder;
  for (const char* name : {"b.bin", "a.bin", "a.idx", "README.md", ".hidden.bin", "c10.bin", "c9.bin"})
    folder.write(name, "x");
  EXPECT_EQ(names_of(token_files_of(folder.path())), (Names{"a.bin", "b.bin", "c10.bin", "c9.bin"}));
}

TEST(TokenNames, a_pattern_stands_for_the_token_files_that_match) {
  const TemporaryFolder folder;
  for (const char* name : {"t-2.h5", "t-1.h5", "v-1.h5", "t-1.log", "c[1].bin"}) folder.write(name, "x");
  EXPECT_EQ(names_of(token_files_of(folder.path() / "t-*")), (Names{"t-1.h5", "t-2.h5"}));
  EXPECT_EQ(names_of(token_files_of(folder.path() / "c[1].bin")), Names{"c[1].bin"});
  EXPECT_EQ(names_of(token_files_of(folder.path() / "absent.bin")), Names{"absent.bin"});
}

// tenax tokenize was killed as it gave its shards their names, the first one last. One that has its name may have a leftover,
// too, and so may a set that is whole.
TEST(TokenNames, of_a_set_that_is_not_whole_are_refused) {
  const TemporaryFolder folder;
  for (const char* name : {"t-00001.h5", "t-00002.h5", "u-00000.h5", "u-000001.h5", ".t-00002.h5.tmp-host-7",
                           ".v-00000.h5.tmp-host-7", ".t.h5.tmp-host-7", ".u-00002.h5.tmp-other-9"})
    folder.write(name, "x");
  EXPECT_EQ(token_files_of(folder.path()).size(), 4U);
  folder.write(".t-00000.h5.tmp-host-7", "x");
  for (const char* name : {"*.h5", "t-*.h5", "t-00001.[h]5"}) {
    const std::string message = error_of([&] { token_files_of(folder.path() / name); }).first;
    EXPECT_NE(message.find("t-00000.h5 is not in place yet"), std::string::npos) << message;
  }
  EXPECT_EQ(token_files_of(folder.path() / "u-*").size(), 2U);
  EXPECT_EQ(token_files_of(folder.path() / "t-00001.h5").size(), 1U);
}

// Of decks in such a folder: its name is no pattern.
TEST(TokenNames, folders_that_exist_stand_for_themselves) {
  const TemporaryFolder folder;
  for (const char* name : {"run[1]", "run1"}) std::filesystem::create_directory(folder.path() / name);
  for (const char* name : {"run[1]/a.bin", "run1/b.bin", "run1/c.bin"}) folder.write(name, "x");
  EXPECT_EQ(names_of(token_files_of(folder.path() / "run[1]" / "*.bin")), Names{"a.bin"});
  EXPECT_NE(error_of([&] { token_files_of(folder.path() / "run[1]" / "b.bin"); }).first.find("no file"),
            std::string::npos);
  EXPECT_EQ(names_of(token_files_of(folder.path() / "run1" / "{b,c}.bin")), (Names{"b.bin", "c.bin"}));
}

TEST(TokenNames, without_a_file_or_with_two_kinds_of_files_there_is_an_error) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { token_files_of(folder.path()); }).first.find("none of the files in"),
            std::string::npos);
  EXPECT_NE(error_of([&] { token_files_of(folder.path() / "*.bin"); }).first.find("no file matches"),
            std::string::npos);
  EXPECT_NE(error_of([&] { token_files_of(folder.path() / "shards"); }).first.find("no file or folder"),
            std::string::npos);
  folder.write("a.txt", "x");
  folder.write("a.h5", "x");
  const auto [message, status] = error_of([&] { token_files_of(folder.path()); });
  EXPECT_NE(message.find("more than one kind (a.h5, a.txt)"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
}

TEST(TokenNames, tell_folders_by_their_missing_ending) {
  for (const char* name : {"/data/shards", "/data/v1.2/", "/data/*.csv", "/data/x?"})
    EXPECT_TRUE(may_name_many(name)) << name;
  for (const char* name : {"/data/x.csv", "/data/x.idx"}) EXPECT_FALSE(may_name_many(name)) << name;
}

}  // namespace
}  // namespace tenax::io::test
