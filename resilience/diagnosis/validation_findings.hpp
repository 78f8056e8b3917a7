// What a validation found: which of the suspects are slow, by what their ranks measured. Pure.
#pragma once

#include <vector>

#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

struct ValidationFindings {
  std::vector<Component> components;  ///< ranks, then links
  bool is_common = false;             ///< nothing stands out, but all have become slower alike
};

/// `tests`: of all ranks, in their order. Judged are the ranks and links that the request names,
/// and those of its groups; where it names nothing, all.
///
/// - A rank that the tests find slow is slow (product_comparison.hpp), a link too
///   (link_comparison.hpp). One that profiling had named keeps its figures, which are training's
///   own; else they are the test's.
/// - One that profiling had named and the tests find healthy has healed, and is left out. But
///   profiling has the last word on what tests do not judge: ranks short of processor time, which
///   may have it at the moment; links of pipelines; links that were not tested, or had no others
///   to compare with.
ValidationFindings find_slow(const ValidationRequest& request, const std::vector<RankTests>& tests);

}  // namespace tenax::resilience
