#include "app/training/run_records.hpp"

#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

RunRecords::RunRecords(comm::ControlGroup& control, const io::Deck& deck, io::RunLock* lock, Console& console,
                       std::int64_t steps_done)
    : control_(control), deck_(deck), lock_(lock), console_(console) {
  control_.agree([&] {
    if (control_.rank() != 0) return;
    events_ = std::make_unique<io::EventsWriter>(deck_.run.output_dir);
    metrics_ = std::make_unique<io::MetricsWriter>(deck_.run.output_dir, steps_done);
    if (deck_.run.tensorboard)
      tensorboard_ = std::make_unique<io::TensorBoardWriter>(deck_.run.output_dir, steps_done);
  });
}

RunRecords::RunRecords(comm::ControlGroup& control, const io::Deck& deck,
                       const std::filesystem::path& directory, Console& console)
    : control_(control), deck_(deck), lock_(nullptr), console_(console) {
  control_.agree([&] {
    if (control_.rank() == 0) events_ = std::make_unique<io::EventsWriter>(directory);
  });
}

void RunRecords::training(const io::TrainingMetrics& metrics) {
  on_first_rank([&] {
    if (metrics_) metrics_->training(metrics);
    if (tensorboard_) tensorboard_->training(metrics);
  });
}

void RunRecords::validation(std::int64_t steps_done, double loss) {
  on_first_rank([&] {
    if (metrics_) metrics_->validation(steps_done, loss);
    if (tensorboard_) tensorboard_->validation(steps_done, loss);
  });
}

void RunRecords::event(std::int64_t step, const std::string& name, const io::JsonObject& details) {
  on_first_rank([&] {
    events_->write({.step = step, .name = name, .replica = {}, .rank = {}, .host = {}, .details = details});
  });
}

void RunRecords::sync() {
  on_first_rank([&] {
    if (metrics_) metrics_->file().sync();
    events_->file().sync();
  });
}

void RunRecords::restore_directory(std::int64_t steps_done) {
  on_first_rank([&] {
    if (!lock_ || (lock_->in_place() && metrics_->file().in_place() && events_->file().in_place())) return;
    console_.warn("something of " + deck_.run.output_dir +
                  " was removed, but this run writes there: its files are made again");
    make_files_again(steps_done);
  });
}

// More than once where somebody is still removing what has been made again.
void RunRecords::make_files_again(std::int64_t steps_done) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) try {
      if (const auto failure = lock_->renew())
        console_.warn("training goes on without checkpoints: " + *failure);
      io::write_resolved_deck(deck_);
      metrics_->file().restore();
      events_->file().restore();
      if (tensorboard_)
        tensorboard_ = std::make_unique<io::TensorBoardWriter>(deck_.run.output_dir, steps_done);
      return;
    } catch (const Error&) {
      if (attempt == kAttempts || lock_->in_place()) throw;
    }
}

void RunRecords::on_first_rank(const std::function<void()>& work) {
  if (control_.rank() != 0 || has_failed()) return;
  try {
    work();
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void RunRecords::agree() {
  control_.agree([&] {
    if (has_failed()) throw Error(Scope::rank, failure_);
  });
}

}  // namespace tenax::app
