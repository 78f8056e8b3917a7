// CheckpointModel: a checkpoint's model in this one process, on the CPU and in fp32, whatever layout wrote it.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "comm/world.hpp"
#include "io/checkpoint_info.hpp"
#include "kernels/device.hpp"
#include "model/gpt_config.hpp"
#include "model/parameter_table.hpp"
#include "resilience/checkpoint_restore.hpp"

namespace tenax::app {

/// What commands on checkpoints build their models from. One thread at a time.
class CheckpointModel {
 public:
  /// Verifies every byte. Throws Error(rank) if the file is absent or damaged.
  explicit CheckpointModel(const std::filesystem::path& checkpoint);

  const io::CheckpointInfo& info() const { return reader_.info(); }
  const model::GptConfig& config() const { return config_; }
  kernels::Device& device() { return *device_; }
  kernels::Stream& stream() { return *stream_; }
  comm::Communicator& alone() { return *alone_; }  ///< a group of one rank
  /// Places the rows of `table`, which is that of the whole model, and reads them: the flat weights. At most once.
  kernels::Tensor load(model::ParameterTable& table);

 private:
  std::vector<std::unique_ptr<comm::World>> worlds_;  // one: this process
  std::unique_ptr<comm::ControlGroup> control_;
  resilience::CheckpointReader reader_;
  model::GptConfig config_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> alone_;
  std::unique_ptr<kernels::Buffer> weights_;
};

}  // namespace tenax::app
