// PipelineSchedule: per stage an ordered list of {pass, microbatch}. No times and no transfers:
// times come from simulate() (timeline.hpp), transfers follow from the order and are the
// executor's.
//
// What an operation waits for, on stage s of S, microbatch m:
//   F          s > 0: F m of stage s − 1 (its activations arrive)
//   B, BW      s < S − 1: B or BW m of stage s + 1 (the gradient arrives); always: its own stage's F m
//   W          its own stage's B m
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::parallel {

/// F, B, W of the zero-bubble literature (Qi et al., ICLR 2024); `backward` is B and W fused, "BW"
/// in files.
enum class Pass { forward, backward_input, backward_weight, backward };

constexpr bool gives_input_gradient(Pass pass) {
  return pass == Pass::backward_input || pass == Pass::backward;
}
constexpr bool gives_weight_gradient(Pass pass) {
  return pass == Pass::backward_weight || pass == Pass::backward;
}
/// "F", "B", "W", "BW".
const char* code_of(Pass pass);

struct PipelineOp {
  Pass pass = Pass::forward;
  int microbatch = 0;
  bool operator==(const PipelineOp&) const = default;
};
/// "F3", "BW0".
std::string to_string(const PipelineOp& op);
/// The pass of a code; nothing for other texts.
std::optional<Pass> pass_of_code(std::string_view code);
/// What to_string() wrote; nothing for other texts.
std::optional<PipelineOp> op_of_text(std::string_view text);

struct PipelineSchedule {
  std::vector<std::vector<PipelineOp>> ops_of_stage;

  int stages() const { return static_cast<int>(ops_of_stage.size()); }
  int microbatches() const;
  bool operator==(const PipelineSchedule&) const = default;
};

/// How much a stage may hold. A microbatch's activation counts 1 from the start of F to the end of
/// B, and weight_share of it from there to the end of W; with BW, 1 to its end. The executor frees
/// nothing before W: weight_share 1.
struct ActivationLimit {
  std::vector<int> microbatches_of_stage;  ///< one per stage; empty = no limit
  double weight_share = 1;

  bool none() const { return microbatches_of_stage.empty(); }
  /// The limit of `stage`; a huge number when there is none.
  int microbatches(int stage) const;
};

/// Must F's and W's come in microbatch order? Running a schedule wants that (equal bits whatever the
/// schedule: a head's forward pass forms gradients, too); asking how long an order takes does not.
enum class WeightOrder { by_microbatch, any };

/// Throws Error(operation), naming stage and op, unless every stage computes F and either B and W
/// or BW of each microbatch 0 … microbatches − 1 exactly once, F before B before W; adds weight
/// gradients in the order asked for; stays within the limit; and no stages wait for each other for
/// ever.
void validate(const PipelineSchedule& schedule, int microbatches, const ActivationLimit& limit = {},
              WeightOrder weight_order = WeightOrder::by_microbatch);

/// The most activations that `stage` holds at any moment, counted as ActivationLimit says.
double peak_activations(const PipelineSchedule& schedule, int stage, double weight_share = 1);

/// How many activations `stage` needs memory for: one from F to W or BW.
int peak_slots(const PipelineSchedule& schedule, int stage);

}  // namespace tenax::parallel
