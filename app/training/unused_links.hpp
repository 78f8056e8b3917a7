// UnusedLinks: tests links that have been told to be slow and that no message of training uses any
// more.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "io/deck/deck.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/diagnosis/pair_tests.hpp"

namespace tenax::app {

class UnusedLinks {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const io::Deck& deck;
    parallel::Replica& replica;
    const parallel::PipelineContext& context;
    std::function<double()> preempted_s;  ///< resilience::DeviceProbe::run
  };
  explicit UnusedLinks(Parts parts) : parts_(std::move(parts)) {}

  /// World ranks round each data ring that is joined in another order than at first.
  void set_rings(std::vector<std::vector<int>> rings) { rings_ = std::move(rings); }
  /// Whether messages of the link's group go over it at present.
  bool is_used(const resilience::Component& link) const;
  /// Which tests tell whether `links` have healed, while `slow` are known to be slow. `usual`: what
  /// links would be validated with; a test takes a tenth of that time.
  resilience::PairTestRequest request(const std::vector<resilience::Component>& links,
                                      const std::vector<resilience::Component>& slow,
                                      const resilience::ValidationRequest& usual) const;
  /// Collective, between steps: rank 0's request counts. `step`: the one that has ended. As
  /// resilience::test_pairs.
  std::vector<resilience::PairResult> test(const resilience::PairTestRequest& request, std::int64_t step);

 private:
  resilience::LinkRoutes routes() const;

  Parts parts_;
  std::vector<std::vector<int>> rings_;
};

}  // namespace tenax::app
