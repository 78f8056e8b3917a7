// World of ranks as threads. Splitting is the only thing the ranks do through shared state; afterwards they
// talk through the mailboxes of their group.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "comm/failure.hpp"
#include "comm/staged/staged.hpp"
#include "comm/threads/mailbox.hpp"
#include "comm/world.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

/// A rank's place in a new group.
struct GroupMember {
  std::shared_ptr<MailboxGroup> group;
  int rank = 0;
};

/// Where the ranks meet to split. Ranks split in the same order, so the n-th split of each belongs together.
class SplitBoard {
 public:
  explicit SplitBoard(int size) : size_(size) {}

  GroupMember split(int rank, std::uint64_t number, int color, int key, kernels::Deadline deadline) {
    std::unique_lock lock(mutex_);
    Round& round = rounds_[number];
    round.entries.emplace_back(color, key, rank);
    if (static_cast<int>(round.entries.size()) == size_) assign(round);
    changed_.notify_all();
    if (!changed_.wait_until(lock, deadline.when(), [&] { return !round.members_of_round.empty(); }))
      throw kernels::Error(kernels::Scope::replica, missing(round));
    const GroupMember member = round.members_of_round.at(rank);
    if (++round.collected == size_) rounds_.erase(number);
    return member;
  }

 private:
  struct Round {
    std::vector<std::tuple<int, int, int>> entries;  ///< color, key, world rank
    std::map<int, GroupMember> members_of_round;     ///< by world rank
    int collected = 0;
  };

  static void assign(Round& round) {
    std::sort(round.entries.begin(), round.entries.end());
    std::map<int, std::vector<int>> members_of_color;
    for (const auto& [color, key, rank] : round.entries) members_of_color[color].push_back(rank);
    for (const auto& [color, members] : members_of_color) {
      const auto group = std::make_shared<MailboxGroup>(members);
      for (std::size_t i = 0; i < members.size(); ++i)
        round.members_of_round[members[i]] = {group, static_cast<int>(i)};
    }
  }

  std::string missing(const Round& round) const {
    std::string text = "split of the world: gave up waiting for";
    for (int rank = 0; rank < size_; ++rank) {
      const auto is_rank = [&](const auto& entry) { return std::get<2>(entry) == rank; };
      if (std::none_of(round.entries.begin(), round.entries.end(), is_rank))
        text.append(" ").append(describe_rank(rank, this_host()));
    }
    return text;
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Round> rounds_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::shared_ptr<SplitBoard> board, int rank, int size, CommOptions options)
      : board_(std::move(board)), rank_(rank), size_(size), options_(options), host_(this_host()) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host() const override { return host_; }
  int ranks_on_host() const override { return size_; }
  int rank_on_host() const override { return rank_; }
  void set_options(CommOptions options) override { options_ = options; }

  std::unique_ptr<Endpoint> split_endpoint(int color, int key) override {
    const kernels::Deadline deadline = kernels::Deadline::after_s(options_.deadline_s);
    GroupMember member = board_->split(rank_, splits_++, color, key, deadline);
    return create_thread_endpoint(std::move(member.group), member.rank);
  }
  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override {
    std::unique_ptr<Endpoint> endpoint = split_endpoint(color, key);
    const auto make = [&](kernels::Device& memory) {
      return create_link_communicator(name, std::move(endpoint), memory, options_);
    };
    if (endpoint->size() > 1 && needs_staging(device))
      return create_staged_communicator(device, options_, make);
    return make(device);
  }
  std::unique_ptr<ControlGroup> control_group() override {
    return create_control_group(split_endpoint(0, rank_), options_);
  }
  /// The other ranks are threads of this process: it ends with them.
  void abort(int status) override { std::_Exit(status); }

 private:
  std::shared_ptr<SplitBoard> board_;
  int rank_, size_;
  CommOptions options_;
  std::string host_;
  std::uint64_t splits_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<World>> create_thread_worlds(int size, CommOptions options) {
  const auto board = std::make_shared<SplitBoard>(size);
  std::vector<std::unique_ptr<World>> worlds;
  for (int rank = 0; rank < size; ++rank)
    worlds.push_back(std::make_unique<ThreadWorld>(board, rank, size, options));
  return worlds;
}

}  // namespace tenax::comm
