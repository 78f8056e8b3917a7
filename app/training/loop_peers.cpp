#include "app/training/loop_peers.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "app/options.hpp"
#include "app/training/replica_link.hpp"

namespace tenax::app {

using kernels::steady_now_s;

namespace {

// Those that the layout's schedule was planned for.
std::int64_t usual_samples(const parallel::Layout& layout) {
  return layout.schedule.microbatches() * layout.microbatch.sequences * layout.grid.data;
}

}  // namespace

LoopPeers::LoopPeers(const io::Deck& deck, parallel::Replica& replica, resilience::ReplicaSession* session,
                     PeerState* state, std::int64_t sample_offset, bool judges_times)
    : deck_(deck),
      replica_(replica),
      session_(session),
      state_(state),
      sample_offset_(sample_offset),
      judges_times_(judges_times),
      share_(usual_samples(replica.layout())) {
  if (!session_) return;
  replica_.on_piece_ready([this](kernels::Stream& stream, int bucket, const parallel::GradientPiece& piece) {
    if (!announces_) return;
    if (state_) state_->on_own_piece(stream, piece);
    session_->start(stream, bucket, piece);
  });
}

const resilience::StepWork& LoopPeers::begin() {
  const std::int64_t epoch = work_.plan.epoch;
  work_ = session_->begin();
  is_first_ = work_.plan.epoch != epoch;
  if (work_.plan.action == resilience::MemberPlan::Action::train) {
    if (is_first_) plan_ahead();
    if (state_) state_->begin_step(work_.plan.step, !work_.plan.is_behind);
  }
  begin_s_ = steady_now_s();
  return work_;
}

// A death or a rejoin changes the number of microbatches: their order shall be there by then.
void LoopPeers::plan_ahead() {
  const std::int64_t sequences = replica_.layout().microbatch.sequences * replica_.layout().grid.data;
  std::vector<int> microbatches;
  for (const std::int64_t samples :
       resilience::counts_after_a_change(sample_rules(deck_), work_.plan.parts, work_.replica))
    microbatches.push_back(static_cast<int>(samples / sequences));
  replica_.pipeline().plan_ahead(microbatches);
}

std::vector<StepRound> LoopPeers::rounds(std::int64_t step) {
  announces_ = true;
  if (!session_) return {whole_step(step)};
  std::vector<parallel::SampleRange> own;
  for (const resilience::Part& part : work_.plan.parts)
    if (part.replica == work_.replica) own.push_back({part.first, part.count});
  auto rounds = rounds_.begin(step, own);
  share_.begin(rounds, is_first_ || work_.plan.is_behind);
  if (rounds.empty()) replica_.announce_pieces();
  return rounds;
}

StepRound LoopPeers::whole_step(std::int64_t step) {
  StepRound round{.samples = samples_of_step(deck_, step)};
  round.samples.first += sample_offset_;
  if (sample_offset_ != 0) next_sample_ = round.samples.first + round.samples.count;
  return round;
}

std::int64_t LoopPeers::own_samples() const {
  std::int64_t samples = 0;
  for (const resilience::Part& part : work_.plan.parts)
    if (part.replica == work_.replica) samples += part.count;
  return samples;
}

// Pieces go to the other replicas while passes run, unless more is added to them, or they may turn out void.
void LoopPeers::prepare(const StepRound& round) {
  announces_ = round.is_last && !replica_.layout().fails_over;
  if (!session_) return;
  rounds_.add(round, round.adds ? replica_.loss() : 0);
  if (round.adds) replica_.keep_sums();
}

bool LoopPeers::must_repeat_passes() {
  if (!session_ || !replica_.layout().fails_over) return false;
  double count = replica_.pipeline().is_void() ? 1 : 0;
  replica_.control().all_reduce_sum(std::span(&count, 1));
  return count > 0;
}

void LoopPeers::conclude_round(const StepRound& round) {
  if (!session_) return;
  if (replica_.layout().fails_over) {
    announces_ = round.is_last;
    if (!round.adds) replica_.announce_pieces();
  }
  if (round.adds) replica_.add_kept_sums();
}

// The loss, the own squares, and the digest of the state. The numbers make the sums count: where the device's groups failed to
// form a rank's, that rank ends before, so that its replica's numbers never come to be.
resilience::OwnShare LoopPeers::sum_own_share() {
  using resilience::PlacedSum;
  using resilience::StateDigest;
  replica_.check_sums();
  resilience::OwnSquares own;
  std::optional<StateDigest> digest;
  if (state_ && !work_.plan.is_behind) {
    own = state_->own_squares();
    digest = state_->digest(work_.plan.step);
  }
  std::vector<double> sums = {replica_.loss() + rounds_.earlier_loss(), own.squares};
  std::ranges::copy(own.sums.addends(), std::back_inserter(sums));
  if (digest) std::ranges::copy(digest->addends(), std::back_inserter(sums));
  replica_.sum_over_ranks(sums);
  const auto rest = std::span(sums).subspan(2);
  own_ = {.squares = sums[1], .sums = PlacedSum::of_addends(rest)};
  if (digest) digest = StateDigest::of_addends(rest.subspan(PlacedSum::kAddends));
  return {.loss = sums[0], .own = own_, .usual = usual_.value(), .digest = digest};
}

// The samples in doubt take the place of this replica's own, which it computes again where the step is repeated.
resilience::OwnSquares LoopPeers::compute_again(const resilience::Doubt& doubt, const ComputeAgain& compute) {
  resilience::OwnSquares own;
  if (doubt.verifier != work_.replica) return own;
  announces_ = false;
  rounds_ = {};
  compute({doubt.part.first, doubt.part.count});
  replica_.check_sums();
  if (state_) own = state_->own_squares();
  std::vector<double> sums = {own.squares};
  std::ranges::copy(own.sums.addends(), std::back_inserter(sums));
  replica_.sum_over_ranks(sums);
  return {.squares = sums[0], .sums = resilience::PlacedSum::of_addends(std::span(sums).subspan(1))};
}

void LoopPeers::wait_for_sums(bool is_masked) {
  if (!session_) return;
  resilience::OwnShare own = sum_own_share();
  before_sums_s_ = steady_now_s() - begin_s_;
  own.iteration_s = before_sums_s_ + after_sums_s_;
  own.waited_s = in_exchange_s_;
  own.exchange_s = agreed_exchange_s_;
  own.is_masked = is_masked || share_.is_exceptional();
  own.is_crowded = !judges_times_;
  lacks_sums_ = !session_->wait_for_pieces(own);
  if (state_ && !lacks_sums_) state_->on_sums();
  has_sums_s_ = steady_now_s();
  own_exchange_s_ = session_->take_exchange_s();
}

void LoopPeers::fill(StepBallot& ballot) const {
  ballot.lacks_sums = lacks_sums_;
  ballot.exchange_s = own_exchange_s_;
  if (state_) ballot.placed_squares = state_->placed_squares();
  ballot.lacks_state = session_ && session_->lacks_state();
}

// A signal asks for the end of the whole run, which comes as an order.
void LoopPeers::conclude(StepVote& vote, double learning_rate, const ComputeAgain& compute) {
  if (!session_) return;
  if (vote.signalled) session_->ask_stop();
  agreed_exchange_s_ = vote.exchange_s;
  const auto tokens = static_cast<double>(step_tokens());
  const double since_s = steady_now_s();
  resilience::StepTotals totals = session_->conclude({.has_all_sums = vote.has_all_sums,
                                                      .has_state = vote.has_state,
                                                      .tokens = tokens,
                                                      .squares = vote.squares,
                                                      .placed_squares = vote.placed_squares,
                                                      .learning_rate = learning_rate});
  was_in_doubt_ = totals.doubt.has_value();
  if (was_in_doubt_) totals = session_->settle(compute_again(*totals.doubt, compute));
  if (totals.is_complete) usual_.add(own_samples(), own_.squares);
  waited_s_ = steady_now_s() - since_s;
  if (vote.verdict != Verdict::stop) vote.verdict = totals.is_complete ? Verdict::go_on : Verdict::repeat;
  vote.updates = totals.updates;
  vote.loss = totals.loss / tokens;
  vote.finite = !replica_.layout().has_data || (std::isfinite(vote.loss) && std::isfinite(vote.grad_norm));
}

// In a step that is not as any a replica waits for connections, for one that fetches its state, or for one that computes again.
double LoopPeers::finish_iteration(double begin_s, double end_s) {
  if (!session_) return end_s - begin_s;
  after_sums_s_ = end_s - has_sums_s_ - waited_s_;
  const bool is_as_any =
      !share_.is_exceptional() && !was_in_doubt_ && !session_->is_somebody_behind(work_.plan);
  if (is_as_any) in_exchange_s_ = has_sums_s_ - begin_s_ - before_sums_s_ + waited_s_;
  return before_sums_s_ + after_sums_s_;
}

std::int64_t LoopPeers::step_tokens() const {
  return (session_ ? work_.samples() : deck_.batch.global_batch_size) * deck_.model.seq_length;
}

std::optional<std::int64_t> LoopPeers::next_sample() const {
  if (!session_) return next_sample_;
  return work_.plan.parts.front().first + work_.samples();
}

double LoopPeers::learning_rate_factor() const {
  if (!session_) return 1;
  const double share =
      static_cast<double>(work_.contributing()) / static_cast<double>(deck_.parallel.replicas);
  const io::LrIntervention intervention = deck_.replicas.lr_intervention;
  if (intervention == io::LrIntervention::linear) return share;
  return intervention == io::LrIntervention::square_root ? std::sqrt(share) : 1;
}

}  // namespace tenax::app
