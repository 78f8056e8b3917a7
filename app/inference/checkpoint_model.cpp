#include "app/inference/checkpoint_model.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/options.hpp"
#include "app/units.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/state/training_state.hpp"

namespace tenax::app {

using kernels::DType;
using kernels::Tensor;

namespace {

constexpr double kModelDeadline_s = 600;
constexpr std::int64_t kPieceElements = std::int64_t{8} << 20;

/// In the words of the option, not of a deck's key.
void check_cuda_is_here() {
  const kernels::CudaPresence presence = kernels::cuda_presence();
  if (presence.devices > 0) return;
  throw kernels::Error(kernels::Scope::rank,
                       "--device cuda: " + presence.reason + "; --device cpu or auto takes what is there");
}

DeviceChoice device_of(const ModelOptions& options) {
  if (options.device == io::DeviceKind::cuda) check_cuda_is_here();
  io::Deck deck;
  deck.device.kind = options.device;
  try {
    return choose_device(deck, 1);
  } catch (const kernels::Error& error) {
    if (options.device != io::DeviceKind::automatic) throw;
    deck.device.kind = io::DeviceKind::cpu;
    DeviceChoice choice = choose_device(deck, 1);
    choice.note = std::string("not on a GPU: ") + error.what();
    return choice;
  }
}

/// As its run did. Files of format 1 say it in the deck alone.
bool is_of_bf16(const io::CheckpointInfo& info) {
  if (!info.origin.compute_dtype.empty()) return info.origin.compute_dtype == "bf16";
  const auto deck = io::readable_deck(info.deck);
  return deck && deck->model.compute_dtype == io::ComputeDtype::bf16;
}

DType type_of(const ModelOptions& options, const io::CheckpointInfo& info, const kernels::Device& device) {
  if (!options.dtype.empty()) return options.dtype == "bf16" ? DType::bf16 : DType::f32;
  return device.kind() != kernels::DeviceKind::cpu && is_of_bf16(info) ? DType::bf16 : DType::f32;
}

}  // namespace

ModelOptions ModelOptions::of(const CommandLine& line) {
  constexpr int kManyThreads = 4096;
  ModelOptions options;
  options.device.set(line.one_of("device", "auto", {"auto", "cpu", "cuda"}));
  options.dtype = line.one_of("dtype", "", {"fp32", "bf16"});
  options.threads = static_cast<int>(line.integer("threads", kernels::usable_cores(), 1, kManyThreads));
  return options;
}

CheckpointModel::CheckpointModel(const std::filesystem::path& checkpoint, const ModelOptions& options)
    : CheckpointModel(io::open_verified_checkpoint(checkpoint), options) {}

CheckpointModel::CheckpointModel(io::VerifiedCheckpoint checkpoint, const ModelOptions& options)
    : worlds_(comm::create_thread_worlds(1, {kModelDeadline_s})),
      control_(worlds_.front()->control_group()),
      reader_(*control_, std::move(checkpoint)),
      choice_(device_of(options)),
      threads_(choice_.device->kind() == kernels::DeviceKind::cpu ? options.threads : 1),
      config_(gpt_config(reader_.info().model, type_of(options, reader_.info(), *choice_.device))),
      stream_(choice_.device->create_stream()),
      alone_(worlds_.front()->split_communicator("tensor", 0, 0, *choice_.device)) {
  stream_->use_threads(threads_);
}

std::string CheckpointModel::device_name() const {
  return choice_.device->name() +
         (is_on_cpu() ? format(", %d thread%s", threads_, threads_ == 1 ? "" : "s") : std::string()) + ", " +
         name_of(config_.compute_dtype) + (choice_.note.empty() ? "" : " (" + choice_.note + ")");
}

Tensor CheckpointModel::load(model::ParameterTable& table) {
  const DType dtype = config_.compute_dtype;
  const parallel::ShardMap shards = parallel::TrainingState::plan_shards(table, dtype, 1);
  table.place(shards.row_offsets());
  std::call_once(read_, [&] {
    weights_ = device().allocate(static_cast<std::size_t>(shards.padded_size()) * bytes_of(dtype));
    read_weights(table, weights_->tensor(dtype, {shards.padded_size()}));
  });
  return weights_->tensor(dtype, {shards.padded_size()});
}

// A piece at a time goes through memory of the host, where the weights are not fp32 there.
void CheckpointModel::read_weights(const model::ParameterTable& table, const Tensor& weights) {
  const bool is_straight = device().is_host_memory() && weights.dtype == DType::f32;
  const std::int64_t longest = is_straight ? std::numeric_limits<std::int64_t>::max() : kPieceElements;
  std::unique_ptr<kernels::Buffer> staging;
  if (!is_straight)
    staging = device().allocate(kPieceElements * sizeof(float), kernels::MemoryKind::pinned_host);
  for (const model::ParameterRow& row : table.rows())
    for (std::int64_t begin = 0; begin < row.size(); begin += std::min(longest, row.size() - begin)) {
      const std::int64_t count = std::min(longest, row.size() - begin);
      const Tensor piece = weights.part(row.offset + begin, {count});
      const Tensor read = is_straight ? piece : staging->tensor(DType::f32, {count});
      const io::StateRange range{.name = row.name,
                                 .layout = row.layout,
                                 .local_begin = begin,
                                 .count = count,
                                 .parts = {{io::kWeightGroup, read.as<float>()}}};
      reader_.read({&range, 1});
      if (is_straight) continue;
      device().kernels().cast(*stream_, read, piece);
      stream_->synchronize(kernels::Deadline::after_s(kModelDeadline_s));
    }
}

}  // namespace tenax::app
