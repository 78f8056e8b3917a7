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

/// Collective over the world, as all calls but neighbours(). Direct links are MPI's (staged through
/// host memory where the device's cannot be read), NCCL's, or on the emulated device its own. With
/// PathChoice::direct_only they are used as they are; else each is a FailoverLink. With delegated_only none is NCCL's.
class PipelineLinks {
 public:
  PipelineLinks(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context);

  PipelineNeighbours neighbours() { return neighbours_; }
  bool adaptable() const { return adaptable_; }

  /// Chooses the path of the link between stages `link` and `link` + 1. Does nothing on ranks that
  /// are not at its ends.
  void set_path(int link, comm::Path path, int delegates);
  void finish_iteration();
  /// Between iterations, before the stage's memory goes: ends all reads of it.
  void release_memory();
  /// Why this rank gave up the direct path of `link` in the last iteration; empty if it did not.
  std::string failure(int link) const;
  /// Whether this rank knows that it was the direct path of `link` that broke, and not one before
  /// or after it.
  bool direct_path_broke(int link) const;
  bool path_failed() const;
  /// A path broke in the last iteration, and a pass may have run before its message had come. Then
  /// nothing counts that any rank of the world computed: all run their passes again, without
  /// set_path() before.
  bool is_void() const;
  /// Over which paths the last iteration's messages of `link` came to this rank; none where it is
  /// not at an end.
  comm::Arrivals arrivals(int link) const;
  /// Builds the direct paths of `broken` links (equal on all ranks of the pipeline) anew and tries
  /// whether each carries a message both ways. Returns 0 for a broken link that this rank is an end
  /// of and that does not. A path that no rank objects to may be used (set_path).
  std::vector<char> rebuild_direct(const std::vector<char>& broken);

 private:
  comm::FailoverLink* at(int link) const;
  comm::Link* make_neighbour(int stage);  // null before the first and after the last
  std::unique_ptr<comm::Endpoint> make_host_direct(const GroupSplit& part, double deadline_s);
  std::unique_ptr<comm::Endpoint> make_direct(comm::LinkDeadlines deadlines, const std::vector<int>& links);
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
  std::vector<int> ranks_;  // this pipeline's, by stage
  bool adaptable_;
  double built_in_s_ = 0;            // the first direct paths
  int builds_ = 0;                   // of direct paths, after the first
  std::vector<DirectPaths> direct_;  // the first ones, and what was built anew, as long as they are used
  std::unique_ptr<comm::Endpoint> control_;
  std::unique_ptr<comm::FailoverLink> up_, down_;
  std::array<std::unique_ptr<comm::Link>, 2> watched_;  // over those, or direct ones
  PipelineNeighbours neighbours_;
};

}  // namespace tenax::parallel
