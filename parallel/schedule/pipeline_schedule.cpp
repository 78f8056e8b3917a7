#include "parallel/schedule/pipeline_schedule.hpp"

#include <algorithm>
#include <limits>

#include "kernels/error.hpp"
#include "kernels/number_text.hpp"
#include "parallel/schedule/dependency_walk.hpp"

namespace tenax::parallel {
namespace {

[[noreturn]] void refuse(int stage, const std::string& fault) {
  throw kernels::Error(kernels::Scope::operation,
                       "pipeline schedule, stage " + std::to_string(stage) + ": " + fault);
}

/// What has been computed for each microbatch of one stage, op by op.
class StageChecker {
 public:
  StageChecker(int stage, int microbatches, WeightOrder weight_order)
      : stage_(stage), weight_order_(weight_order), done_(static_cast<std::size_t>(microbatches)) {}

  void add(const PipelineOp& op) {
    if (op.microbatch < 0 || op.microbatch >= static_cast<int>(done_.size()))
      refuse(stage_, to_string(op) + " is not among the " + std::to_string(done_.size()) + " microbatches");
    Done& done = done_[static_cast<std::size_t>(op.microbatch)];
    if (op.pass == Pass::forward) {
      if (done.forward) refuse(stage_, to_string(op) + " is repeated");
      add_forward(op, done);
    }
    if (gives_input_gradient(op.pass)) add_input_gradient(op, done);
    if (gives_weight_gradient(op.pass)) add_weight_gradient(op, done);
  }

  void finish() const {
    for (std::size_t microbatch = 0; microbatch < done_.size(); ++microbatch) {
      const Done& done = done_[microbatch];
      const char* missing = !done.forward ? "F" : !done.input ? "B" : !done.weight ? "W" : nullptr;
      if (missing) refuse(stage_, missing + std::to_string(microbatch) + " is missing");
    }
  }

 private:
  struct Done {
    bool forward = false, input = false, weight = false;
  };

  void add_forward(const PipelineOp& op, Done& done) {
    if (weight_order_ == WeightOrder::by_microbatch && op.microbatch != next_forward_)
      refuse(stage_, to_string(op) + " comes where F" + std::to_string(next_forward_) +
                         " is due: forward passes come in microbatch order");
    done.forward = true;
    ++next_forward_;
  }

  void add_input_gradient(const PipelineOp& op, Done& done) {
    if (!done.forward) refuse(stage_, to_string(op) + " comes before its F");
    if (done.input) refuse(stage_, to_string(op) + " repeats a backward pass");
    done.input = true;
  }

  void add_weight_gradient(const PipelineOp& op, Done& done) {
    if (!done.input) refuse(stage_, to_string(op) + " comes before its B");
    if (done.weight) refuse(stage_, to_string(op) + " repeats a weight gradient");
    if (weight_order_ == WeightOrder::by_microbatch && op.microbatch != next_weight_)
      refuse(stage_, to_string(op) + " comes where the weight gradient of microbatch " +
                         std::to_string(next_weight_) + " is due: they are added in microbatch order");
    done.weight = true;
    ++next_weight_;
  }

  int stage_;
  WeightOrder weight_order_;
  int next_forward_ = 0, next_weight_ = 0;
  std::vector<Done> done_;
};

}  // namespace

const char* code_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "F";
    case Pass::backward_input:
      return "B";
    case Pass::backward_weight:
      return "W";
    case Pass::backward:
      return "BW";
  }
  return "?";
}

std::string to_string(const PipelineOp& op) { return code_of(op.pass) + std::to_string(op.microbatch); }

std::optional<Pass> pass_of_code(std::string_view code) {
  for (const Pass pass : {Pass::forward, Pass::backward_input, Pass::backward_weight, Pass::backward})
    if (code == code_of(pass)) return pass;
  return {};
}

std::optional<PipelineOp> op_of_text(std::string_view text) {
  const std::string_view code = text.substr(0, text.find_first_of("0123456789"));
  const std::optional<Pass> pass = pass_of_code(code);
  const auto microbatch = kernels::number_of<int>(text.substr(code.size()));
  if (!pass || !microbatch) return {};
  return PipelineOp{*pass, *microbatch};
}

int PipelineSchedule::microbatches() const {
  if (ops_of_stage.empty()) return 0;
  const auto& ops = ops_of_stage.front();
  return static_cast<int>(
      std::count_if(ops.begin(), ops.end(), [](const PipelineOp& op) { return op.pass == Pass::forward; }));
}

int ActivationLimit::microbatches(int stage) const {
  if (none()) return std::numeric_limits<int>::max();
  return microbatches_of_stage.at(static_cast<std::size_t>(stage));
}

void validate(const PipelineSchedule& schedule, int microbatches, const ActivationLimit& limit,
              WeightOrder weight_order) {
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    StageChecker checker(stage, microbatches, weight_order);
    for (const PipelineOp& op : schedule.ops_of_stage[static_cast<std::size_t>(stage)]) checker.add(op);
    checker.finish();
  }
  DependencyWalk(schedule, microbatches).run([](int, int) {});
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const double peak = peak_activations(schedule, stage, limit.weight_share);
    if (peak > limit.microbatches(stage) * (1 + 1e-9))
      refuse(stage, "holds " + std::to_string(peak) + " activations, more than the limit of " +
                        std::to_string(limit.microbatches(stage)));
  }
}

double peak_activations(const PipelineSchedule& schedule, int stage, double weight_share) {
  int whole = 0, share = 0;  // held in full, and between B and W
  double peak = 0;
  for (const PipelineOp& op : schedule.ops_of_stage[static_cast<std::size_t>(stage)]) {
    whole += (op.pass == Pass::forward) - gives_input_gradient(op.pass);
    share += (op.pass == Pass::backward_input) - (op.pass == Pass::backward_weight);
    peak = std::max(peak, whole + weight_share * share);
  }
  return peak;
}

int peak_slots(const PipelineSchedule& schedule, int stage) {
  return static_cast<int>(peak_activations(schedule, stage));
}

}  // namespace tenax::parallel
