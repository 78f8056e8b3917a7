// TrainingRun: how a run is put together from a deck: device, layout, data and state; then TrainingLoop trains.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/console.hpp"
#include "app/stop_signals.hpp"
#include "app/training/batch_loader.hpp"
#include "app/training/data_tokenizer.hpp"
#include "app/training/run_start.hpp"
#include "app/training/training_data.hpp"
#include "io/json.hpp"
#include "io/run/run_lock.hpp"
#include "kernels/emulated_device.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/checkpoint/checkpoint_manager.hpp"
#include "resilience/faults/fault_injector.hpp"

namespace tenax::app {

/// One rank's view. Everything that can be wrong is found before the run directory is touched. Every call is
/// collective; what one rank cannot do, all throw as comm::AgreedError.
class TrainingRun {
 public:
  /// `world` and `signals` must outlive the run.
  TrainingRun(comm::World& world, StopSignals& signals, const Build& build);

  /// Rank 0 reads and checks, then broadcasts.
  void read_deck(const std::string& file, const std::vector<std::string>& overrides);
  /// Trains to the end, a signal or the time limit. Returns what is left to say or do after the ranks have parted; empty
  /// on all but rank 0.
  std::function<void()> train();

 private:
  bool first() const { return world_.rank() == 0; }
  void check_ranks() const;
  RunStart agree_on_start();
  void create_device();
  void measure_machine();
  void use_nccl();
  parallel::PipelineContext create_context(const parallel::Layout& layout);
  void create_transport();
  std::function<void()> emulate(const parallel::Layout& layout, const parallel::PipelineContext& context,
                                const RunStart& start);
  std::function<void()> train(const parallel::Layout& layout, const parallel::PipelineContext& context,
                              const RunStart& start);
  std::unique_ptr<resilience::CheckpointManager> create_checkpoints(parallel::GptReplica& replica);
  parallel::Layout agree_on_layout();
  void check_memory(const parallel::Layout& layout);
  void compare_with_cores();
  void agree_on_tokenizer(const std::vector<SourceFiles>& train, const std::vector<SourceFiles>& validation);
  void compare_tokenizer(const io::TokenizerClaim& weights);
  std::optional<BatchLoader> open_tokens(const parallel::Replica& replica,
                                         const std::vector<SourceFiles>& sources, io::SampleOrder order);
  void load_state(parallel::GptReplica& replica, const RunStart& start);
  void open_run_directory(const RunStart& start);
  void check_disk(const RunStart& start);
  void write_event(const std::string& event, std::int64_t step, const io::JsonObject& details) const;
  std::function<void()> run_loop(parallel::Replica& replica, const parallel::PipelineContext& context,
                                 std::optional<BatchLoader>& training, std::optional<BatchLoader>& validation,
                                 resilience::CheckpointManager* checkpoints, std::int64_t first_step);
  std::function<void()> already_finished(std::int64_t steps) const;

  const kernels::Deadline::Clock::time_point started_ = kernels::Deadline::Clock::now();
  comm::World& world_;
  StopSignals& signals_;
  Build build_;
  std::unique_ptr<comm::ControlGroup> control_;
  Console console_;
  io::Deck deck_;
  std::optional<io::RunLock> lock_;  // rank 0's; given back last
  DataTokenizer tokens_;             // rank 0's
  std::shared_ptr<kernels::Device> device_;
  std::string device_note_;
  std::unique_ptr<comm::World> nccl_world_;
  int ranks_sharing_device_ = 1;
  std::size_t available_bytes_ = 0;                    ///< of the host's memory, before the run takes any
  std::shared_ptr<kernels::EmulatedDevice> emulated_;  // the same, where it is that
  std::unique_ptr<resilience::FaultInjector> injector_;
  std::unique_ptr<comm::World> injected_world_;
  std::unique_ptr<comm::Transport> transport_;
  std::vector<comm::Peer> peers_;
  bool judges_times_ = true;
  double rank_flop_per_second_ = 0, machine_flop_per_second_ = 0;
};

}  // namespace tenax::app
