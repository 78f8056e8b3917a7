// SwappableReplica: a rank whose place in the grid may change between steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "parallel/replica/replica.hpp"

namespace tenax::parallel {

/// Stands for the replica of the grid that is in force, and forwards each call to it. References to
/// grid() and coordinates() stay valid, and tell the new ones after a swap; those to pipeline() and
/// to a group do not. For replicas without peers: what on_piece_ready() was told is lost.
class SwappableReplica final : public Replica {
 public:
  /// `before`: the replica of the grid in force, which stays so where any rank fails; null for the first
  /// grid. The new one may share its memory, as long as the old one can go on.
  using Build = std::function<std::unique_ptr<Replica>(const ProcessGrid& grid, const Replica* before)>;
  /// Gives `to` the state that its place in the new grid had in the old one, wherever that is, and
  /// leaves `from` able to go on. Collective over `control`. Throws comm::AgreedError where a rank fails.
  using Move = std::function<void(Replica& from, Replica& to, comm::ControlGroup& control)>;

  /// Collective: builds the replica of the first grid. What `context` refers to outlives this.
  SwappableReplica(const Layout& layout, const PipelineContext& context, Build build);

  /// Collective, between steps, with the same permutation on all ranks. Builds the replica of the next
  /// grid beside this one, moves the state, and replaces the old replica when all ranks have done
  /// so. Throws comm::AgreedError where one has not: then the old grid is in force, and all that was
  /// built is gone. Throws another error where a rank is gone.
  void swap(std::vector<int> rank_of_position, const Move& move);
  /// The one in force.
  Replica& current() { return *current_; }

  PipelineRunner& pipeline() override { return current_->pipeline(); }
  comm::Communicator* group(GroupKind kind) override { return current_->group(kind); }
  bool reads_tokens() const override { return current_->reads_tokens(); }
  void passes(const StepBatch& batch, const kernels::UpdateRule& rule, ScheduleObserver* observer) override {
    current_->passes(batch, rule, observer);
  }
  void reduce() override { current_->reduce(); }
  void on_piece_ready(PieceReady ready) override { current_->on_piece_ready(std::move(ready)); }
  void announce_pieces() override { current_->announce_pieces(); }
  void keep_sums() override { current_->keep_sums(); }
  void add_kept_sums() override { current_->add_kept_sums(); }
  void check_sums() override { current_->check_sums(); }
  void sum_tied() override { current_->sum_tied(); }
  double loss() override { return current_->loss(); }
  StepSums norm() override { return current_->norm(); }
  void update(const kernels::UpdateRule& rule, double squares) override { current_->update(rule, squares); }
  void gather() override { current_->gather(); }
  Evaluation evaluate(const StepBatch& batch, const Riders& riders) override {
    return current_->evaluate(batch, riders);
  }
  void report(StepObserver* observer, bool all) override { current_->report(observer, all); }
  kernels::Stream& stream() override { return current_->stream(); }

 private:
  const int rank_;
  int generations_ = 0;  // tried after the first
  Build build_;
  std::unique_ptr<comm::ControlGroup> decision_;  // whether to swap
  std::unique_ptr<Replica> current_;
};

}  // namespace tenax::parallel
