#include "resilience/checkpoint/checkpoint_search.hpp"

#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/deck/deck_key.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::resilience {
namespace {

using kernels::Error;
using kernels::Scope;

class Search {
 public:
  Search(comm::ControlGroup& group, const std::filesystem::path& directory, const Verification& verification)
      : group_(group), directory_(directory), verification_(verification) {}

  FoundCheckpoint run(std::int64_t after_step) {
    try {
      look(after_step);
    } catch (const comm::AgreedError& error) {
      throw UnreadableCheckpoint(
          error.scope(), std::string(error.what()) +
                             " (a complete checkpoint may be there, so none before it is taken): start "
                             "again, or name one with run.resume");
    }
    group_.agree([&] {
      if (is_root() && !found_.checkpoint && !found_.passed_over.empty()) fail();
    });
    return std::move(found_);
  }

 private:
  bool is_root() const { return group_.rank() == 0; }

  void look(std::int64_t after_step) {
    group_.agree([&] {
      if (is_root()) files_ = list_checkpoints(directory_);
    });
    std::erase_if(files_, [&](const CheckpointFile& file) { return file.step <= after_step; });
    for (std::string file = next(); !file.empty(); file = found_.checkpoint ? "" : next()) open(file);
  }

  /// The newest of the files left whose seal is whole; empty if there is none.
  std::string next() {
    std::string file;
    group_.agree([&] {
      while (is_root() && file.empty() && !files_.empty()) {
        const std::string obstacle = obstacle_of(files_.back());
        if (obstacle.empty())
          file = files_.back().path.string();
        else
          pass_over(obstacle);
      }
    });
    return group_.broadcast(file, 0);
  }

  static std::string obstacle_of(const CheckpointFile& file) {
    if (static_cast<double>(file.step) > io::kMaxSize)
      return file.path.string() + " is no checkpoint: no run has so many steps";
    try {
      io::read_seal(file.path);
    } catch (const kernels::UnfitFileError& error) {
      return error.what();
    }
    return {};
  }

  void open(const std::string& file) {
    try {
      found_.checkpoint = std::make_unique<CheckpointReader>(group_, file, verification_);
    } catch (const comm::AgreedUnfitFileError& error) {
      if (is_root()) pass_over(error.what());
    }
  }

  void pass_over(const std::string& reason) {
    found_.passed_over.push_back({files_.back().path.filename().string(), reason});
    files_.pop_back();
  }

  [[noreturn]] void fail() const {
    const std::size_t count = found_.passed_over.size();
    throw Error(Scope::rank, directory_.string() + " holds " +
                                 (count == 1 ? "a checkpoint" : std::to_string(count) + " checkpoints") +
                                 ", but none that is complete (" + found_.passed_over.front().reason +
                                 "): name another one with run.resume, or begin anew with run.resume=never");
  }

  comm::ControlGroup& group_;
  const std::filesystem::path& directory_;
  const Verification& verification_;
  std::vector<CheckpointFile> files_;  ///< rank 0's, by increasing step: the last is the next to look at
  FoundCheckpoint found_;
};

}  // namespace

FoundCheckpoint find_checkpoint(comm::ControlGroup& group, const std::filesystem::path& directory,
                                std::int64_t after_step, const Verification& verification) {
  return Search(group, directory, verification).run(after_step);
}

}  // namespace tenax::resilience
