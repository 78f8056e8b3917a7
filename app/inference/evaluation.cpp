#include "app/inference/evaluation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>

#include "kernels/deadline.hpp"
#include "kernels/new_thread.hpp"
#include "model/gpt_scorer.hpp"

namespace tenax::app {

namespace {

using model::MicrobatchShape;

constexpr double kBatchDeadline_s = 3600;  // of one batch

/// Which windows a text is scored in: batches of `largest`, and last the tokens that make no whole window.
struct WindowPlan {
  std::int64_t targets, length, batch;

  WindowPlan(const io::TokenFile& file, std::int64_t seq_length, std::int64_t wanted_batch)
      : targets(file.size() - 1),
        length(std::min(seq_length, targets)),
        batch(std::min(wanted_batch, targets / length)) {}
  MicrobatchShape largest() const { return {batch, length}; }
  std::int64_t whole() const { return targets / length; }
  std::int64_t count() const { return (whole() + batch - 1) / batch + (targets % length > 0 ? 1 : 0); }
  std::int64_t begin(std::int64_t index) const { return std::min(index * batch, whole()) * length; }
  MicrobatchShape shape(std::int64_t index) const {
    const std::int64_t left = whole() - index * batch;
    return left > 0 ? MicrobatchShape{std::min(batch, left), length} : MicrobatchShape{1, targets % length};
  }
};

struct BatchScore {
  double loss = 0;
  std::optional<std::int64_t> bytes;
};

/// What the targets of the windows stand for; nothing if a token is not in the table.
std::optional<std::int64_t> count_bytes(std::span<const std::int32_t> windows, std::int64_t length,
                                        std::span<const std::int64_t> bytes_of_token) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (static_cast<std::int64_t>(i) % (length + 1) == 0) continue;
    const auto token = static_cast<std::size_t>(windows[i]);
    if (token >= bytes_of_token.size()) return {};
    bytes += bytes_of_token[token];
  }
  return bytes;
}

/// The batches of a text and what became of them. Any number of threads may work at once.
class Scoring {
 public:
  Scoring(CheckpointModel& model, const io::TokenFile& file, const EvaluationOptions& options)
      : model_(model),
        file_(file),
        options_(options),
        plan_(file, model.config().seq_length, options.batch),
        scores_(static_cast<std::size_t>(plan_.count())) {}

  const WindowPlan& plan() const { return plan_; }
  const std::vector<BatchScore>& scores() const { return scores_; }
  std::int64_t tokens_done() const { return tokens_done_; }

  /// Scores batch after batch until there are none; after an error, nobody begins another one.
  template <class AfterBatch>
  void work(const AfterBatch& after_batch) try {
    const auto stream = model_.device().create_stream();
    model::GptScorer scorer(model_.config(), model_.alone(), model_.device(), *stream, plan_.largest());
    scorer.bind(model_.load(scorer.parameters()));
    std::vector<std::int32_t> windows;
    for (std::int64_t index = next_++; index < plan_.count(); index = next_++) {
      const MicrobatchShape shape = plan_.shape(index);
      read(plan_.begin(index), shape, windows);
      scores_[static_cast<std::size_t>(index)] = {
          scorer.score(windows, shape, kernels::Deadline::after_s(kBatchDeadline_s)),
          count_bytes(windows, shape.length, options_.bytes_of_token)};
      tokens_done_ += shape.rows();
      after_batch();
    }
  } catch (...) {
    next_ = plan_.count();
    throw;
  }

 private:
  void read(std::int64_t begin, MicrobatchShape shape, std::vector<std::int32_t>& windows) const {
    const auto window = static_cast<std::size_t>(shape.length + 1);
    windows.resize(static_cast<std::size_t>(shape.sequences) * window);
    for (std::int64_t s = 0; s < shape.sequences; ++s)
      file_.read(begin + s * shape.length,
                 std::span(windows).subspan(static_cast<std::size_t>(s) * window, window));
  }

  CheckpointModel& model_;
  const io::TokenFile& file_;
  const EvaluationOptions& options_;
  WindowPlan plan_;
  std::vector<BatchScore> scores_;
  std::atomic<std::int64_t> next_ = 0, tokens_done_ = 0;
};

// Threads that would each need more memory than their share of half of it stay away.
std::int64_t threads_for(const CheckpointModel& model, const WindowPlan& plan, std::size_t memory_bytes) {
  const std::size_t bytes = model::GptScorer::bytes(model.config(), plan.largest());
  const auto room = static_cast<std::int64_t>(memory_bytes / 2 / std::max<std::size_t>(bytes, 1));
  return std::clamp<std::int64_t>(std::min<std::int64_t>(model.threads(), plan.count()), 1,
                                  std::max<std::int64_t>(room, 1));
}

}  // namespace

double Evaluation::perplexity() const { return std::exp(loss()); }

std::optional<double> Evaluation::bits_per_byte() const {
  if (!bytes) return {};
  return loss_sum / std::log(2.0) / static_cast<double>(*bytes);
}

Evaluation evaluate(CheckpointModel& model, const io::TokenFile& file, const EvaluationOptions& options) {
  Scoring scoring(model, file, options);
  const std::int64_t threads = threads_for(model, scoring.plan(), model.device().memory_bytes());
  model::WholeGpt whole(model.config(), model.alone(), model.device().kernels());
  model.load(whole.parameters);  // before the clock runs
  const double begin_s = kernels::steady_now_s();
  std::vector<std::future<void>> helpers;
  for (std::int64_t i = 1; i < threads; ++i)
    helpers.push_back(kernels::new_async([&] { scoring.work([] {}); }));
  scoring.work([&] {
    if (options.progress) options.progress(scoring.tokens_done());
  });
  for (std::future<void>& helper : helpers) helper.get();

  Evaluation result{.tokens = scoring.plan().targets, .loss_sum = 0, .bytes = 0, .seconds = 0};
  for (const BatchScore& score : scoring.scores()) {
    result.loss_sum += score.loss;
    result.bytes = score.bytes && result.bytes ? std::optional(*result.bytes + *score.bytes) : std::nullopt;
  }
  result.seconds = kernels::steady_now_s() - begin_s;
  return result;
}

}  // namespace tenax::app
