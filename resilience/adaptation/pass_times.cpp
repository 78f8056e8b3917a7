#include "resilience/adaptation/pass_times.hpp"

#include <algorithm>

#include "resilience/adaptation/delay_estimator.hpp"

namespace tenax::resilience {

using parallel::Pass;

namespace {

double longest_stall_s(const std::vector<double>& passes_s) {
  if (passes_s.empty()) return 0;
  const auto [least, most] = std::minmax_element(passes_s.begin(), passes_s.end());
  return *most - *least;
}

}  // namespace

void PassTimes::on_pass(const parallel::PassRecord& pass) {
  const double seconds = pass.end_s - pass.begin_s;
  switch (pass.op.pass) {
    case Pass::forward:
      forward_s_.push_back(seconds);
      break;
    case Pass::backward_input:
      backward_input_s_.push_back(seconds);
      break;
    case Pass::backward_weight:
      backward_weight_s_.push_back(seconds);
      break;
    case Pass::backward:
      fused_.push_back(pass);
      break;
  }
}

void PassTimes::on_transfer(const parallel::TransferRecord& transfer) {
  if (transfer.kind != parallel::TransferKind::send_gradient) return;
  const auto index = static_cast<std::size_t>(transfer.microbatch);
  if (index >= sent_s_.size()) sent_s_.resize(index + 1);
  sent_s_[index] = transfer.begin_s;
}

void PassTimes::split_fused() {
  for (const parallel::PassRecord& pass : fused_) {
    const double whole_s = pass.end_s - pass.begin_s;
    const auto microbatch = static_cast<std::size_t>(pass.op.microbatch);
    const std::optional<double> sent_s = microbatch < sent_s_.size() ? sent_s_[microbatch] : std::nullopt;
    const bool seen = sent_s && *sent_s > pass.begin_s && *sent_s < pass.end_s;
    const double input_s = seen ? *sent_s - pass.begin_s : whole_s * input_share_;
    backward_input_s_.push_back(input_s);
    backward_weight_s_.push_back(whole_s - input_s);
  }
}

PassMeasurement PassTimes::take() {
  last_.stall_s = std::max(longest_stall_s(forward_s_), longest_stall_s(backward_input_s_));
  split_fused();
  const auto median_or = [](std::vector<double>& seconds, double otherwise) {
    const double value = seconds.empty() ? otherwise : quantile(seconds, 0.5);
    seconds.clear();
    return value;
  };
  last_.forward_s = median_or(forward_s_, last_.forward_s);
  last_.backward_input_s = median_or(backward_input_s_, last_.backward_input_s);
  last_.backward_weight_s = median_or(backward_weight_s_, last_.backward_weight_s);
  const double backward_s = last_.backward_input_s + last_.backward_weight_s;
  if (backward_s > 0) input_share_ = last_.backward_input_s / backward_s;
  fused_.clear();
  sent_s_.clear();
  return last_;
}

}  // namespace tenax::resilience
