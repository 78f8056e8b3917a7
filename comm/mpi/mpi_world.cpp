// World over MPI. MPI's own blocking collectives (split, finalize) have no deadline, so each is entered only
// after all ranks have met in a non-blocking barrier that has one.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <thread>
#include <vector>

#include "comm/failure.hpp"
#include "comm/mpi/check.hpp"
#include "comm/mpi/mpi_endpoint.hpp"
#include "comm/poll.hpp"
#include "comm/shared_memory/shared_memory_communicator.hpp"
#include "comm/staged/staged.hpp"
#include "comm/world.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm {

namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

/// How long a rank that an error unwinds waits for the others to unwind too (as after ControlGroup::agree).
constexpr double kUnwindingGrace_s = 2;
/// How long ranks leave it to rank 0 to refuse a library that none of them can use.
constexpr double kRefusalGrace_s = 5;

class MpiWorld final : public World {
 public:
  explicit MpiWorld(CommOptions options) : options_(options), host_(this_host()) {
    start();
    for (MPI_Comm* communicator : {&meeting_, &farewell_}) {
      TENAX_MPI(job, host_, MPI_Comm_dup(MPI_COMM_WORLD, communicator));
      MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    }
    gather_names();
    check_overtaking();
  }
  ~MpiWorld() override { finish(); }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host() const override { return host_; }
  int ranks_on_host() const override { return ranks_on_host_; }
  int rank_on_host() const override { return rank_on_host_; }
  void set_options(CommOptions options) override { options_ = options; }

  std::unique_ptr<Endpoint> split_endpoint(int color, int key) override {
    if (!meet(meeting_, options_.deadline_s))
      throw Error(Scope::replica, timeout_sentence("split of the world into groups", names_[index(rank_)],
                                                   options_.deadline_s, "the other ranks"));
    MPI_Comm group = MPI_COMM_NULL;
    TENAX_MPI(replica, names_[index(rank_)], MPI_Comm_split(meeting_, color, key, &group));
    return create_mpi_endpoint(group, names_of(group), options_.deadline_s);
  }
  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override {
    std::unique_ptr<Endpoint> endpoint = split_endpoint(color, key);
    const auto make = [&](kernels::Device& memory) {
      return create_communicator(name, std::move(endpoint), memory);
    };
    if (endpoint->size() > 1 && needs_staging(device))
      return create_staged_communicator(device, options_, make);
    return make(device);
  }
  std::unique_ptr<ControlGroup> control_group() override {
    return create_control_group(split_endpoint(0, rank_), options_);
  }
  void abort(int status) override {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  /// Any call lets MPI move the messages of all communicators; a failure is seen by who waits for them.
  static void progress(MPI_Comm communicator) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &found, MPI_STATUS_IGNORE);
  }

  std::unique_ptr<Communicator> create_communicator(const std::string& name,
                                                    std::unique_ptr<Endpoint> endpoint,
                                                    kernels::Device& device) const {
    if (endpoint->size() > 1 && device.is_host_memory()) {
      auto communicator = try_create_shared_memory_communicator(name, *endpoint, options_,
                                                                [meeting = meeting_] { progress(meeting); });
      if (communicator) return communicator;
    }
    return create_link_communicator(name, std::move(endpoint), device, options_);
  }

  void start() {
    int provided = MPI_THREAD_SINGLE, initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) throw Error(Scope::job, "MPI was started before; a process has one World");
    TENAX_MPI(job, host_, MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_MULTIPLE)
      refuse_library("does not support MPI_THREAD_MULTIPLE, or the layer it sends messages through does not");
    void* tag_limit = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_limit, &found);
    if (found == 0 || *static_cast<int*>(tag_limit) < kMaxTag - 1)
      refuse_library("has tags that end below " + std::to_string(kMaxTag));
  }

  void check_overtaking() {
    if (!meet(meeting_, options_.deadline_s))
      throw Error(Scope::job,
                  timeout_sentence("start", names_[index(rank_)], options_.deadline_s, "the other ranks"));
    if (!messages_overtake(meeting_, options_.deadline_s))
      refuse_library(
          "holds messages back behind earlier ones that are not received yet, as libfabric's 'net' does");
  }

  /// Every rank comes here alike; rank 0 says so, and its end ends the others before they do.
  [[noreturn]] void refuse_library(const std::string& why) const {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string version(text.data(), std::strcspn(text.data(), ",\n"));
    if (rank_ != 0) std::this_thread::sleep_for(std::chrono::duration<double>(kRefusalGrace_s));
    throw Error(Scope::job, version + " as set up here " + why +
                                "; tenax needs another MPI or another layer of it: with Open MPI, "
                                "OMPI_MCA_pml=ob1, or OMPI_MCA_pml=ucx on InfiniBand");
  }

  void gather_names() {
    constexpr int kLength = 256;
    std::vector<char> mine(kLength), all(kLength * index(size_));
    host_.copy(mine.data(), kLength - 1);
    TENAX_MPI(job, host_,
              MPI_Allgather(mine.data(), kLength, MPI_CHAR, all.data(), kLength, MPI_CHAR, meeting_));
    for (int rank = 0; rank < size_; ++rank) {
      const std::string host = all.data() + kLength * index(rank);
      names_.push_back(describe_rank(rank, host));
      if (host != mine.data()) continue;
      ++ranks_on_host_;
      if (rank < rank_) ++rank_on_host_;
    }
  }

  /// The names of a group's members, in its order.
  std::vector<std::string> names_of(MPI_Comm communicator) const {
    MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    MPI_Comm_group(meeting_, &world);
    MPI_Comm_group(communicator, &group);
    int size = 0;
    MPI_Group_size(group, &size);
    std::vector<int> ranks(index(size)), world_ranks(index(size));
    for (int rank = 0; rank < size; ++rank) ranks[index(rank)] = rank;
    MPI_Group_translate_ranks(group, size, ranks.data(), world, world_ranks.data());
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    std::vector<std::string> names;
    for (const int rank : world_ranks) names.push_back(names_[index(rank)]);
    return names;
  }

  /// True once every rank has called it with this communicator.
  bool meet(MPI_Comm communicator, double deadline_s) {
    MPI_Request request = MPI_REQUEST_NULL;
    TENAX_MPI(replica, names_[index(rank_)], MPI_Ibarrier(communicator, &request));
    const auto met = [&] {
      int complete = 0;
      TENAX_MPI(replica, names_[index(rank_)], MPI_Test(&request, &complete, MPI_STATUS_IGNORE));
      return complete != 0;
    };
    return poll_until(met, Deadline::after_s(deadline_s));
  }

  /// MPI_Finalize waits for every rank. If an error unwinds this rank alone, it does not enter it: the process
  /// then ends without, with its own status, and mpirun or srun ends the others.
  void finish() noexcept {
    const bool unwinding = std::uncaught_exceptions() > 0;
    bool all_here = false;
    try {
      all_here = meet(farewell_, unwinding ? kUnwindingGrace_s : options_.deadline_s);
    } catch (const Error& error) {
      std::fprintf(stderr, "tenax: %s\n", error.what());
    }
    if (all_here) {
      for (MPI_Comm* communicator : {&meeting_, &farewell_}) MPI_Comm_free(communicator);
      MPI_Finalize();
    } else if (!unwinding) {
      const std::string text =
          timeout_sentence("end of the run", names_[index(rank_)], options_.deadline_s, "the other ranks");
      std::fprintf(stderr, "tenax: %s\n", text.c_str());
      abort(1);
    }
  }

  CommOptions options_;
  int ranks_on_host_ = 0, rank_on_host_ = 0;
  std::string host_;
  int rank_ = 0, size_ = 1;
  MPI_Comm meeting_ = MPI_COMM_NULL;  ///< where ranks meet to split
  MPI_Comm farewell_ =
      MPI_COMM_NULL;  ///< where they meet at the end: a rank that leaves is not one that splits
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<World> start_mpi_world(CommOptions options) { return std::make_unique<MpiWorld>(options); }

/// mpirun and srun --mpi=pmix|pmi2 leave their mark in the environment. Slurm sets SLURM_PROCID in a batch
/// script's shell too, but there the step has a number above any that srun gives out.
bool launched_by_mpi() {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(mark) != nullptr) return true;
  const char* step = std::getenv("SLURM_STEP_ID");
  if (step == nullptr || std::getenv("SLURM_PROCID") == nullptr) return false;
  constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0U;  // batch, external and interactive steps
  return kernels::number_of<std::uint32_t>(step).value_or(kFirstSpecialStep) < kFirstSpecialStep;
}

int launched_rank() {
  if (!launched_by_mpi()) return -1;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return kernels::number_of<int>(rank).value_or(-1);
  return -1;
}

}  // namespace tenax::comm
