#include "app/training/step_lines.hpp"

#include <algorithm>
#include <cmath>

#include "app/units.hpp"

namespace tenax::app {

std::string validation_line(const io::Deck& deck, std::int64_t steps_done, double loss) {
  const std::string text = format("validation after %lld steps: ", static_cast<long long>(steps_done));
  if (deck.device.kind == io::DeviceKind::emulated) return text + "no loss, as passes compute nothing";
  return text + format("loss %.5f, perplexity %.4g", loss, std::exp(loss));
}

StepLines::StepLines(const io::Deck& deck, const parallel::Layout& layout, Console& console,
                     double machine_flop_per_second)
    : deck_(deck), layout_(layout), console_(console), machine_flop_per_second_(machine_flop_per_second) {}

void StepLines::report(const io::TrainingMetrics& metrics) {
  seconds_ += metrics.seconds;
  ++steps_;
  const double step_s = seconds_ / static_cast<double>(steps_);
  const double eta_s = step_s * static_cast<double>(deck_.run.train_steps - metrics.step - 1);
  const double tokens_per_second = static_cast<double>(metrics.tokens) / step_s;
  const double flop_per_second = tokens_per_second * layout_.config.flop_per_token();
  // What was measured at the start, beside whatever else ran then, may have been too little.
  machine_flop_per_second_ = std::max(machine_flop_per_second_, flop_per_second);
  const StepReport line{.step = metrics.step + 1,
                        .train_steps = deck_.run.train_steps,
                        .loss = metrics.loss,
                        .grad_norm = metrics.grad_norm,
                        .learning_rate = metrics.lr,
                        .tokens_per_second = tokens_per_second,
                        .flop_per_second = flop_per_second,
                        .peak_fraction = flop_per_second / machine_flop_per_second_,
                        .eta_s = eta_s,
                        .iteration_s = step_s,
                        .has_data = layout_.has_data};
  if (line.step % deck_.run.log_interval == 0 || line.step == line.train_steps) {
    console_.report(line);
    seconds_ = 0;
    steps_ = 0;
  }
  console_.progress(line);
}

}  // namespace tenax::app
