// World: the ranks of one replica, as MPI started them. The only place that knows that MPI exists.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/control_group.hpp"

namespace tenax::comm {

/// Of direct links: for a message, and for all ranks to come and connect.
struct LinkDeadlines {
  double message_s = 60, building_s = 60;
};

/// RAII of the message-passing library; one a process. Used by the thread that created it, but a
/// ControlGroup may be handed to another thread. Outlives all that it made.
///
/// Destroying it ends MPI in order. When an exception destroys it, it waits 2 s for the other ranks
/// to come as well (after ControlGroup::agree they do); else it leaves MPI as it is, for the
/// process to end with its own status and the launcher to end the other ranks. So print an error
/// before the World is gone: the launcher may end this rank as soon as another one has left.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& host() const = 0;
  virtual int ranks_on_host() const = 0;  ///< this rank included
  virtual int rank_on_host() const = 0;   ///< among them, from 0 in the order of rank()
  /// For groups created from now on (the deck's deadline is known only after MPI has started).
  virtual void set_options(CommOptions options) = 0;

  /// Collective over the world: ranks with equal `color` form a group, ordered by `key`. A subgroup
  /// for point-to- point messages, or for collectives.
  virtual std::unique_ptr<Endpoint> split_endpoint(int color, int key) = 0;
  /// As split_endpoint, for small messages of the control plane: never delayed by injected faults.
  virtual std::unique_ptr<Endpoint> control_endpoint(int color, int key) {
    return split_endpoint(color, key);
  }
  /// As split_endpoint, with links from device to device, to those of the group's ranks before and after
  /// this one that are in `neighbours`; both ends name each other. Null where the world has no such way:
  /// then split_endpoint() has what there is (comm/staged where the host cannot read the device's memory).
  virtual std::unique_ptr<Endpoint> split_direct_endpoint(int color, int key,
                                                          const std::vector<int>& neighbours,
                                                          kernels::Device& device, LinkDeadlines deadlines) {
    static_cast<void>(color), static_cast<void>(key), static_cast<void>(neighbours);
    static_cast<void>(device), static_cast<void>(deadlines);
    return nullptr;
  }
  /// As split_endpoint, with collectives; picks the fastest way to reach the group's ranks (shared
  /// memory within a host). Tensors whose memory the host cannot read go through copies
  /// (comm/staged).
  virtual std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                           kernels::Device& device) = 0;
  /// A group that ranks of the world have made beside it, for a world that watches what its ranks do; others hand it back
  /// as it is. `name`: equal on all its ranks, and of no other one.
  virtual std::unique_ptr<Communicator> watch(std::unique_ptr<Communicator> group, const std::string& name) {
    static_cast<void>(name);
    return group;
  }
  /// Likewise a link from rank `here` of a group to rank `there`, both of which call it: the link to be used instead, which
  /// `link` must outlive; null where `link` itself is to be used. `name`: of the group's links alone.
  virtual std::unique_ptr<Link> watch(Link& link, const std::string& name, int here, int there) {
    static_cast<void>(link), static_cast<void>(name), static_cast<void>(here), static_cast<void>(there);
    return nullptr;
  }
  /// A control group of all ranks, independent of every other one (each call makes a new one;
  /// collective).
  virtual std::unique_ptr<ControlGroup> control_group() = 0;
  /// Ends every rank of the world at once with `status`, for errors that peers cannot learn of
  /// otherwise.
  [[noreturn]] virtual void abort(int status) = 0;
};

/// The same ranks: for worlds that change some of what another one makes.
class ForwardingWorld : public World {
 public:
  /// `inner` must outlive it. `options`: those of `inner`.
  ForwardingWorld(World& inner, CommOptions options) : inner_(inner), options_(options) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  const std::string& host() const override { return inner_.host(); }
  int ranks_on_host() const override { return inner_.ranks_on_host(); }
  int rank_on_host() const override { return inner_.rank_on_host(); }
  void set_options(CommOptions options) override {
    options_ = options;
    inner_.set_options(options);
  }
  std::unique_ptr<Endpoint> split_endpoint(int color, int key) override {
    return inner_.split_endpoint(color, key);
  }
  std::unique_ptr<Endpoint> control_endpoint(int color, int key) override {
    return inner_.control_endpoint(color, key);
  }
  std::unique_ptr<Communicator> watch(std::unique_ptr<Communicator> group, const std::string& name) override {
    return inner_.watch(std::move(group), name);
  }
  std::unique_ptr<Link> watch(Link& link, const std::string& name, int here, int there) override {
    return inner_.watch(link, name, here, there);
  }
  std::unique_ptr<ControlGroup> control_group() override { return inner_.control_group(); }
  [[noreturn]] void abort(int status) override {
    inner_.abort(status);
    std::abort();  // not reached; older compilers do not see it
  }

 protected:
  World& inner_;
  CommOptions options_;
};

/// True inside a process that mpirun or srun started. Ask before start_mpi_world: MPI sets the same
/// marks.
bool launched_by_mpi();
/// Starts MPI; a process that no launcher started becomes a world of one rank. Throws Error(job) if
/// it cannot.
std::unique_ptr<World> start_mpi_world(CommOptions options);

/// Ranks as threads of one process: thread i uses world i. `tenax generate` and `tenax evaluate` run on
/// one of them, tests on several.
std::vector<std::unique_ptr<World>> create_thread_worlds(int size, CommOptions options);

/// The number that mpirun or srun gave this process; -1 where neither started it.
int launched_rank();

}  // namespace tenax::comm
