// CheckpointModel: a checkpoint's model in this one process, whatever layout wrote it.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/machine/device_choice.hpp"
#include "comm/world.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/deck/choice.hpp"
#include "kernels/device.hpp"
#include "model/gpt_config.hpp"
#include "model/parameter_table.hpp"
#include "resilience/checkpoint/checkpoint_restore.hpp"

namespace tenax::app {

/// What a model of a checkpoint computes on, and in which type.
struct ModelOptions {
  io::Choice<io::DeviceKind> device = io::DeviceKind::cpu;
  std::string dtype;  ///< "fp32", "bf16"; empty: the run's on a GPU, fp32 on the CPU
  int threads = 1;    ///< CPU threads

  /// The options --device (auto), --dtype and --threads (as many as the process may use cores).
  /// Throws Error(usage).
  static ModelOptions of(const CommandLine& line);
};

/// What commands on checkpoints build their models from. One thread at a time, but load().
class CheckpointModel {
 public:
  /// Verifies every byte. Throws Error(rank) if the file is absent or damaged, or there is no
  /// such device.
  explicit CheckpointModel(const std::filesystem::path& checkpoint, const ModelOptions& options = {});
  /// The same of what has been verified.
  explicit CheckpointModel(io::VerifiedCheckpoint checkpoint, const ModelOptions& options = {});

  const io::CheckpointInfo& info() const { return reader_.info(); }
  const model::GptConfig& config() const { return config_; }
  kernels::Device& device() { return *choice_.device; }
  bool is_on_cpu() const { return choice_.device->kind() == kernels::DeviceKind::cpu; }
  kernels::Stream& stream() { return *stream_; }   ///< whose operations use threads()
  comm::Communicator& alone() { return *alone_; }  ///< a group of one rank
  int threads() const { return threads_; }         ///< 1 on a GPU
  /// For people: "cpu (AMD EPYC, AVX-512), 2 threads, fp32".
  std::string device_name() const;
  /// Places the rows of `table`, which is that of the whole model, and returns the flat weights,
  /// which the first call reads: all tables share them. Any thread.
  kernels::Tensor load(model::ParameterTable& table);

 private:
  void read_weights(const model::ParameterTable& table, const kernels::Tensor& weights);

  std::vector<std::unique_ptr<comm::World>> worlds_;  // one: this process
  std::unique_ptr<comm::ControlGroup> control_;
  resilience::CheckpointReader reader_;
  DeviceChoice choice_;
  int threads_;
  model::GptConfig config_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> alone_;
  std::once_flag read_;
  std::unique_ptr<kernels::Buffer> weights_;
};

}  // namespace tenax::app
