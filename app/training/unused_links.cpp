#include "app/training/unused_links.hpp"

#include <algorithm>
#include <string>

#include "parallel/replica/pair_link.hpp"

namespace tenax::app {

using parallel::GroupKind;
using resilience::Component;

namespace {

/// Of detect.probe_seconds.
constexpr double kShare = 0.1;
/// A link that says nothing for so long is not waited for: training does not need it.
constexpr double kPatience_s = 10;

comm::LinkTopology topology_of(const comm::Communicator* group) {
  return group ? group->topology() : comm::LinkTopology::none;
}

}  // namespace

// Groups of a kind are joined alike.
resilience::LinkRoutes UnusedLinks::routes() const {
  return {.tensor = topology_of(parts_.replica.group(GroupKind::tensor)),
          .data = topology_of(parts_.replica.group(GroupKind::data)),
          .rings = rings_};
}

bool UnusedLinks::is_used(const Component& link) const {
  return resilience::is_used(link, parts_.replica.grid(), routes());
}

// A slow link carries less than those whose rates are known.
resilience::PairTestRequest UnusedLinks::request(const std::vector<Component>& links,
                                                 const std::vector<Component>& slow,
                                                 const resilience::ValidationRequest& usual) const {
  resilience::PairTestRequest request{.pairs = {}, .tests = usual};
  request.pairs =
      resilience::plan_pair_tests(links, slow, [this](GroupKind kind, const resilience::LinkVisitor& visit) {
        resilience::visit_used_links(kind, parts_.replica.grid(), routes(), visit);
      });
  double factor = 1;
  for (const Component& link : links) factor = std::max(factor, link.factor);
  request.tests.seconds *= kShare;
  request.tests.probe_mb = {*std::min_element(usual.probe_mb.begin(), usual.probe_mb.end())};
  request.tests.tensor_bytes_per_s /= factor;
  request.tests.data_bytes_per_s /= factor;
  return request;
}

std::vector<resilience::PairResult> UnusedLinks::test(const resilience::PairTestRequest& request,
                                                      std::int64_t step) {
  const double deadline_s = std::min(parts_.deck.comm.deadline_s, kPatience_s);
  const auto join = [&](const resilience::PairTest* test) {
    if (!test) return parallel::join_pair(parts_.context, nullptr, {}, deadline_s);
    const parallel::JoinedPair pair{.kind = test->group, .rank = test->rank, .other = test->other};
    const std::string name = "probe." + std::to_string(step) + "." + std::to_string(pair.rank) + "-" +
                             std::to_string(pair.other) + "." + std::to_string(test->round);
    return parallel::join_pair(parts_.context, &pair, name, deadline_s);
  };
  return resilience::test_pairs(request, {.control = parts_.replica.control(),
                                          .device = parts_.context.device,
                                          .join = join,
                                          .preempted_s = parts_.preempted_s,
                                          .deadline_s = deadline_s});
}

}  // namespace tenax::app
