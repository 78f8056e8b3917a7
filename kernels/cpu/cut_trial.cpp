#include "kernels/cpu/cut_trial.hpp"

#include <algorithm>
#include <limits>

namespace tenax::kernels {
namespace {

constexpr double kWorthIt = 0.97;      // of the usual cut's time
constexpr std::size_t kFinalists = 3;  // the usual one among them
constexpr int kFinalRounds = 2;

struct Candidate {
  ProductCut cut;
  double seconds = std::numeric_limits<double>::infinity();  // the least of its runs
};

void time_all(std::vector<Candidate>& candidates, const CutTrial& trial) {
  for (Candidate& candidate : candidates) {
    trial.restore();
    const double begin_s = trial.now_s();
    trial.run(candidate.cut);
    candidate.seconds = std::min(candidate.seconds, trial.now_s() - begin_s);
  }
}

/// The first run of a cut is not timed: the library prepares what it needs.
std::vector<Candidate> same_bits(const std::vector<ProductCut>& cuts, const CutTrial& trial) {
  std::vector<Candidate> candidates;
  std::uint64_t usual = 0;
  for (const ProductCut& cut : cuts) {
    trial.restore();
    trial.run(cut);
    const std::uint64_t sum = trial.checksum();
    if (candidates.empty()) usual = sum;
    if (sum == usual) candidates.push_back({cut});
  }
  return candidates;
}

bool is_faster(const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; }

}  // namespace

ProductCut fastest_cut(const std::vector<ProductCut>& cuts, const CutTrial& trial, double slow_s) {
  std::vector<Candidate> usual = same_bits({cuts.front()}, trial);
  time_all(usual, trial);
  if (usual.front().seconds > slow_s) return cuts.front();
  std::vector<Candidate> candidates = same_bits(cuts, trial);
  time_all(candidates, trial);
  std::sort(candidates.begin() + 1, candidates.end(), is_faster);
  candidates.resize(std::min(candidates.size(), kFinalists));
  for (int round = 0; round < kFinalRounds; ++round) time_all(candidates, trial);
  const Candidate& best = *std::min_element(candidates.begin(), candidates.end(), is_faster);
  return best.seconds < kWorthIt * candidates.front().seconds ? best.cut : cuts.front();
}

}  // namespace tenax::kernels
