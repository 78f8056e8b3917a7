#include "io/posix_file.hpp"
#include "io/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

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

}  // namespace
}  // namespace tenax::io::test
