// PipelineLinks: a rank's links to the stages before and after it, and which way each goes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/failover/failover_link.hpp"
#include "parallel/execution/row_traffic.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"

namespace tenax::parallel {

/// Collective over the world, as all calls but neighbours(). Direct links are MPI's (staged through host memory where
/// the device's cannot be read), NCCL's, or on the emulated device its own. With PathChoice::direct_only they are used as
/// they are; else each is a FailoverLink.
class PipelineLinks {
 public:
  PipelineLinks(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context);

  PipelineNeighbours neighbours() { return neighbours_; }
  bool adaptable() const { return adaptable_; }

  /// Of pipeline link `link` (stages link, link + 1); nothing to do for ranks that are not at its ends.
  void set_path(int link, comm::Path path, int delegates);
  void finish_iteration();
  /// Between iterations: no transfer reads the stage's memory any more.
  void release_memory();
  /// Why this rank gave up the direct path of `link` in the last iteration; empty if it did not.
  std::string failure(int link) const;
  /// Of a failure: whether this rank knows that the direct path of `link` itself is to blame (FailoverLink's).
  bool direct_path_broke(int link) const;
  bool path_failed() const;
  /// Something may have been computed in the last iteration before its message had come, as its path broke: nothing of what
  /// any rank of the world has computed counts, and all run their passes again, without set_path before.
  bool is_void() const;
  /// How the last iteration's messages of `link` came to this rank; none where it is not at an end of it.
  comm::Arrivals arrivals(int link) const;
  /// Builds the direct paths of links that are `broken` (equal on all ranks of the pipeline) anew and sees which carry a
  /// message both ways: per link, 0 where this rank is an end of a broken one and could not. Those that nobody objects to
  /// may be used (set_path).
  std::vector<char> rebuild_direct(const std::vector<char>& broken);

 private:
  comm::FailoverLink* at(int link) const;
  /// What a direct path obeys: while messages go, and while it is built.
  struct Deadlines {
    double message_s, building_s;
  };
  std::unique_ptr<comm::Endpoint> make_direct(Deadlines deadlines, const std::vector<int>& links);
  std::unique_ptr<comm::Endpoint> make_real_direct(std::unique_ptr<comm::Endpoint> mpi, Deadlines deadlines,
                                                   const std::vector<int>& neighbours) const;
  comm::FailoverOptions failover_options(int neighbour) const;
  std::unique_ptr<comm::DelegatedLink> make_delegated(int neighbour);
  /// Direct links to some of the neighbours, made at the same time.
  struct DirectPaths {
    std::unique_ptr<comm::Endpoint> endpoint;
    std::vector<int> links;
  };
  int neighbour_of(int link) const { return link == stage_ ? stage_ + 1 : stage_ - 1; }
  comm::Link& direct(const DirectPaths& paths, int link) const {
    return paths.endpoint->link(neighbour_of(link));
  }
  bool are_used(const DirectPaths& paths) const;

  const Layout& layout_;
  const ProcessGrid& grid_;
  PipelineContext context_;
  int stage_;
  std::vector<int> ranks_;  // of this pipeline, by stage
  bool adaptable_;
  double built_in_s_ = 0;  // the first direct paths
  int generation_ = 0;
  std::vector<DirectPaths> direct_;  // the first ones, and what was built anew, as long as they are used
  std::unique_ptr<comm::Endpoint> control_;
  std::unique_ptr<comm::FailoverLink> up_, down_;
  PipelineNeighbours neighbours_;
};

}  // namespace tenax::parallel
