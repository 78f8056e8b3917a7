// Parts: which samples of a step each replica computes. Pure: who has the same input gets the same
// parts, so that members share a step without a message.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace tenax::resilience {

/// The samples `first` … `first` + `count` − 1 of the data, computed by `replica`.
struct Part {
  int replica = 0;
  std::int64_t first = 0, count = 0;

  bool operator==(const Part&) const = default;
};

/// What a step does without the samples of a replica that died in it (`replicas.batch`).
enum class BatchRule {
  keep,   ///< every step has the global batch: survivors compute what is missing
  shrink  ///< a step has what its contributors have, global batch / replicas each
};

struct SampleRules {
  BatchRule batch = BatchRule::keep;
  std::int64_t global_batch = 1;  ///< samples of a step to which all replicas contribute
  int replicas = 1;               ///< of the run, alive or not
  /// Samples of one microbatch on every pipeline of a replica. A part is a multiple of it, and so
  /// is the global batch (with `shrink`: of it times `replicas`).
  std::int64_t unit = 1;
};

/// The parts of the step whose samples begin with number `first`, by their first sample; they
/// tile it. `contributors`: the replicas that compute, in ring order; not empty.
///
/// A new step (`kept` empty) gives each contributor one part, in ring order. Their sizes differ by
/// one unit at most, earlier ones get more.
///
/// A step that a death interrupted is shared again. `kept`: the parts of its survivors, which stay
/// as they are. `keep` fills all of the global batch with further parts, such that the totals
/// differ as little as they can. `shrink` fills only the gaps before the last kept sample: what a
/// dead replica had after it is not of this step any more, but the beginning of the next one. So a
/// step is always the samples that follow the last one's, without a gap.
///
/// Throws kernels::Error(job) where what is to be shared out is no multiple of the unit.
std::vector<Part> share_samples(const SampleRules& rules, std::int64_t first,
                                const std::vector<int>& contributors, std::vector<Part> kept = {});

/// How many samples `replica` may have to compute at a time once a contributor to a step with these
/// parts is lost, or one more comes: what is missing of the step, and its part of later ones. So
/// that whatever depends on the number can be prepared.
std::set<std::int64_t> counts_after_a_change(const SampleRules& rules, const std::vector<Part>& parts,
                                             int replica);

std::int64_t count_samples(const std::vector<Part>& parts);
/// Whether the parts, in this order, follow each other without gap or overlap from `first` on.
bool tile(const std::vector<Part>& parts, std::int64_t first);

}  // namespace tenax::resilience
