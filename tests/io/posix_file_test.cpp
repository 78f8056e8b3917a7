#include "io/posix_file.hpp"
#include "io/output_place.hpp"
#include "io/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

TEST(PosixFile, that_is_created_does_not_follow_a_link_to_what_is_not_its_own) {
  const TemporaryFolder folder;
  fs::create_symlink(folder.write("target", "precious"), folder.path() / "file");
  PosixFile::create(folder.path() / "file");
  EXPECT_EQ(folder.read("target"), "precious");
  EXPECT_EQ(fs::symlink_status(folder.path() / "file").type(), fs::file_type::regular);
}

// Else an NFS client would write whole pages, with what other hosts wrote into them meanwhile undone.
TEST(PosixFile, that_is_written_is_not_open_to_read) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const PosixFile created = PosixFile::create(path), opened = PosixFile::open_to_write(path);
  for (const PosixFile* const file : {&created, &opened})
    EXPECT_EQ(fcntl(file->descriptor(), F_GETFL) & O_ACCMODE, O_WRONLY);
}

TEST(PosixFile, that_is_a_pipe_is_refused_instead_of_waited_for) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { PosixFile::open_to_read(pipe); }).first,
            "cannot read " + pipe.string() + ": it is a pipe, a socket or a device, not a file");
  EXPECT_EQ(error_of([&] { PosixFile::open_to_read(folder.path()); }).first,
            "cannot read " + folder.path().string() + ": Is a directory");
}

TEST(PosixFile, that_is_none_is_told_from_one_that_cannot_be_read) {
  const TemporaryFolder folder;
  const fs::path loop = folder.path() / "loop";
  fs::create_symlink("loop", loop);
  const auto is_unfit = [](const fs::path& path) {
    try {
      PosixFile::open_to_read(path);
    } catch (const kernels::UnfitFileError&) {
      return true;
    } catch (const kernels::Error&) {
    }
    return false;
  };
  EXPECT_TRUE(is_unfit(folder.path() / "absent"));
  EXPECT_TRUE(is_unfit(folder.path()));
  EXPECT_TRUE(is_unfit("/dev/null"));
  EXPECT_FALSE(is_unfit(loop));
}

TEST(PosixFile, that_was_cut_says_where_it_ends) {
  const TemporaryFolder folder;
  const PosixFile file = PosixFile::open_to_read(folder.write("file", "twelve bytes"));
  std::array<std::byte, 8> bytes;
  EXPECT_EQ(error_of([&] { file.read(bytes, 100); }).first,
            (folder.path() / "file").string() + " is truncated: it ends at byte 12, within its data");
}

TEST(TemporaryPath, removes_what_killed_processes_left_of_the_same_file_and_nothing_else) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  const TemporaryFolder folder;
  const std::string mine = temporary_name("model.h5").string();
  const std::string prefix = mine.substr(0, mine.rfind('-') + 1);
  const std::vector<std::string> kept = {mine, prefix + std::to_string(getppid()), prefix + "x",
                                         ".model.h5.tmp-elsewhere-" + std::to_string(dead),
                                         "." + prefix + std::to_string(dead)};
  for (const std::string& name : kept) folder.write(name, "");
  folder.write(prefix + std::to_string(dead), "");
  {
    const TemporaryPath path = TemporaryPath::beside(folder.path() / "model.h5");
    EXPECT_EQ(path.path(), folder.path() / mine);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}),
              static_cast<std::ptrdiff_t>(kept.size()));
  }
  EXPECT_FALSE(fs::exists(folder.path() / mine));
}

/// What a pipe holds. `write` ends, and nothing waits for the other end.
template <class Write>
std::string piped(const fs::path& pipe, const Write& write) {
  const PosixFile reader = PosixFile::adopt(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK), pipe);
  write();
  std::array<char, 100> text;
  const ssize_t got = ::read(reader.descriptor(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

TEST(TextOutput, to_a_pipe_goes_into_it) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(piped(pipe, [&] { write_text_output(pipe, "some text"); }), "some text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(TextOutput, to_a_link_replaces_the_file_that_it_leads_to) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "far");
  folder.write("far/file", "an older and longer text");
  fs::create_symlink("far/second", folder.path() / "first");
  fs::create_symlink("file", folder.path() / "far/second");
  write_text_output(folder.path() / "first", "text");
  EXPECT_EQ(folder.read("far/file"), "text");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "first") && fs::is_symlink(folder.path() / "far/second"));
  fs::remove(folder.path() / "far/file");
  write_text_output(folder.path() / "first", "new");
  EXPECT_EQ(folder.read("far/file"), "new");
}

// As /dev/stdout is, behind which a shell may have opened a file to go on with.
TEST(TextOutput, to_a_descriptor_is_written_from_where_it_stands) {
  const TemporaryFolder folder;
  const PosixFile log = PosixFile::create(folder.path() / "log");
  log.append(std::as_bytes(std::span("before ", 7)));
  fs::create_symlink(log.name_while_open(), folder.path() / "link");
  write_text_output(folder.path() / "link", "text");
  log.append(std::as_bytes(std::span(" after", 6)));
  EXPECT_EQ(folder.read("log"), "before text after");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
}

TEST(TextOutput, appears_when_it_is_complete) {
  const TemporaryFolder folder;
  TextOutput output(folder.path() / "file");
  output.append("one, ");
  EXPECT_FALSE(fs::exists(folder.path() / "file"));
  output.append("two");
  output.publish();
  EXPECT_EQ(folder.read("file"), "one, two");
}

TEST(FileOfOutput, is_nothing_that_a_file_must_not_replace) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe", loop = folder.path() / "loop", link = folder.path() / "link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("loop", loop);
  fs::create_symlink(pipe, link);
  for (const fs::path& place : {pipe, link, fs::path("/dev/null"), fs::path("/dev/stdout")})
    EXPECT_EQ(error_of([&] { file_of_output(place); }).first,
              "cannot write " + place.string() + ": it is a pipe, a socket or a device, not a file");
  EXPECT_EQ(error_of([&] { file_of_output(folder.path()); }).first,
            "cannot write " + folder.path().string() + ": Is a directory");
  EXPECT_NE(error_of([&] { file_of_output(loop); }).first.find("symbolic links"), std::string::npos);
  EXPECT_EQ(file_of_output(folder.path() / "new"), folder.path() / "new");
}

}  // namespace
}  // namespace tenax::io::test
