#include "app/machine/device_choice.hpp"

#include <algorithm>
#include <array>

#include "app/options.hpp"
#include "kernels/cpu_device.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"
#include "resilience/diagnosis/device_probe.hpp"

namespace tenax::app {

using kernels::CudaPresence;
using kernels::Error;
using kernels::Scope;

namespace {

/// Rows of logits at a time on a GPU: the first that take less than one part in kLogitsShare of its memory. A chunk
/// reads the tied weights twice, and reads and writes their gradient: at 3.3 TB/s that is 9 % of the time that 4096
/// rows' products take at 600 TFLOP/s. And the gradient of 4096 rows of width 768 has 96 tiles of 128 x 256, for 132
/// multiprocessors. (Computed, not measured.)
constexpr std::array<std::int64_t, 3> kLogitRowsOfGpu = {16384, 8192, 4096};
constexpr std::size_t kLogitsShare = 50;

// Keys that only a GPU can honour.
void check_keys_of_cpu(const io::Deck& deck, const std::string& reason) {
  const auto refuse = [&](bool asked, const char* key) {
    if (asked)
      throw Error(Scope::rank, std::string("device.") + key + " needs a GPU, and this run is on the CPU (" +
                                   reason + "): set it to false, or run where there is one");
  };
  refuse(deck.device.stochastic_rounding, "stochastic_rounding");
  refuse(deck.device.cuda_graph, "cuda_graph");
  refuse(deck.device.offload_optimizer, "offload_optimizer");
}

// Of what trains: others meet most shapes once.
std::unique_ptr<kernels::Device> create_tuned_cpu_device(int threads) {
  const auto cache = kernels::user_cache_directory();
  return kernels::create_tuned_cpu_device(cache.empty() ? cache : cache / "tenax", threads);
}

DeviceChoice create(const io::Deck& deck, const CudaPresence& presence, bool use_cuda, int slot,
                    bool trains) {
  DeviceChoice choice;
  if (!use_cuda) {
    const std::string reason = deck.device.kind == io::DeviceKind::cpu ? "device.kind = \"cpu\""
                               : presence.reason.empty()               ? "not every host has a GPU"
                                                                       : presence.reason;
    check_keys_of_cpu(deck, reason);
    const int threads = static_cast<int>(deck.device.threads);
    choice.device = trains ? create_tuned_cpu_device(threads) : kernels::create_cpu_device(threads);
    if (deck.device.kind == io::DeviceKind::automatic) choice.note = "no GPU: " + reason;
    return choice;
  }
  if (deck.device.threads != 1)
    throw Error(Scope::rank,
                "device.threads is for ranks on the CPU, and this run is on a GPU: set it to 1, "
                "or device.kind to \"cpu\"");
  for (const io::InjectEntry& fault : deck.inject)
    if (fault.kind == io::FaultKind::slow_compute) throw Error(Scope::rank, io::kCannotSlowGpu);
  const int index = slot % std::max(1, presence.devices);
  choice.device = kernels::create_cuda_device(cuda_options(deck, index));
  return choice;
}

// Half of the host's memory: the rest is for what it does besides.
std::size_t pinned_room(std::size_t host_bytes, int ranks_on_host) {
  return host_bytes / 2 / static_cast<std::size_t>(ranks_on_host);
}

}  // namespace

DeviceChoice choose_device(const io::Deck& deck, comm::World& world, comm::ControlGroup& control,
                           const std::vector<int>& slots) {
  const CudaPresence presence =
      deck.device.kind == io::DeviceKind::cpu ? CudaPresence{} : kernels::cuda_presence();
  std::array<double, 1> somebody_lacks = {presence.devices > 0 ? 0.0 : 1.0};
  control.all_reduce_max(somebody_lacks);
  const bool use_cuda = deck.device.kind == io::DeviceKind::cuda ||
                        (deck.device.kind == io::DeviceKind::automatic && somebody_lacks[0] == 0);
  const int slot = slot_of(world, control, slots);
  DeviceChoice choice;
  control.agree([&] { choice = create(deck, presence, use_cuda, slot, true); });
  choice.ranks_sharing = ranks_sharing(*choice.device, world, control);
  return choice;
}

DeviceChoice choose_device(const io::Deck& deck, int ranks) {
  const CudaPresence presence =
      deck.device.kind == io::DeviceKind::cpu ? CudaPresence{} : kernels::cuda_presence();
  const bool use_cuda = deck.device.kind == io::DeviceKind::cuda ||
                        (deck.device.kind == io::DeviceKind::automatic && presence.devices > 0);
  DeviceChoice choice = create(deck, presence, use_cuda, 0, false);
  choice.ranks_sharing = use_cuda ? (ranks - 1) / presence.devices + 1 : ranks;
  return choice;
}

int slot_of(const comm::World& world, comm::ControlGroup& control, const std::vector<int>& slots) {
  if (slots.size() != static_cast<std::size_t>(world.size())) return world.rank_on_host();
  const std::vector<std::string> hosts = control.all_gather(world.host());
  const auto first = std::find(hosts.begin(), hosts.end(), world.host()) - hosts.begin();
  return slots[static_cast<std::size_t>(first)] + world.rank_on_host();
}

int ranks_sharing(const kernels::Device& device, const comm::World& world, comm::ControlGroup& control) {
  if (device.is_host_memory()) return world.ranks_on_host();
  std::string memory;
  control.agree([&] { memory = world.host() + " " + device.memory_id(); });
  const std::vector<std::string> memories = control.all_gather(memory);
  return static_cast<int>(std::count(memories.begin(), memories.end(), memory));
}

// By all of the memory: what is free differs from run to run, and with the chunks the bits.
parallel::ComputeHabits compute_habits(const io::Deck& deck, kernels::DeviceKind kind,
                                       std::size_t total_bytes) {
  if (kind != kernels::DeviceKind::cuda) return {};
  const model::GptConfig config = gpt_config(deck.model);
  const int tensor = static_cast<int>(deck.parallel.tensor_parallel_size);
  const auto row_bytes =
      static_cast<std::size_t>(config.padded_vocab_size(tensor) / tensor) * bytes_of(config.compute_dtype);
  const auto are_few = [&](std::int64_t rows) {
    return static_cast<std::size_t>(rows) * row_bytes < total_bytes / kLogitsShare;
  };
  // The last ones in any case.
  const auto rows = std::find_if(kLogitRowsOfGpu.begin(), kLogitRowsOfGpu.end() - 1, are_few);
  return {.logit_rows = *rows, .fuses_backward = true};
}

std::size_t host_memory_to_fill(const io::Deck& deck, std::size_t available_bytes) {
  constexpr std::size_t kParts = 16;  // one of them is left
  const std::size_t all = kernels::usable_memory_bytes();
  return deck.run.ignore_memory ? all : std::min(all, available_bytes) / kParts * (kParts - 1);
}

parallel::MemoryRoom memory_room(const kernels::Device& device, int ranks_sharing, int ranks_on_host,
                                 std::size_t host_bytes) {
  const auto sharing = static_cast<std::size_t>(ranks_sharing);
  if (device.is_host_memory()) {
    parallel::MemoryRoom room(host_bytes / sharing);
    room.is_firm = false;
    room.workspace_bytes = [&device](const kernels::StepShape& shape) { return device.scratch_bytes(shape); };
    return room;
  }
  const std::size_t own = device.memory_bytes() / sharing;
  if (!device.has_data()) return own;
  parallel::MemoryRoom room(own, pinned_room(host_bytes, ranks_on_host));
  room.workspace_bytes = [&device](const kernels::StepShape& shape) { return device.scratch_bytes(shape); };
  return room;
}

parallel::MemoryRoom memory_room_on_paper(const io::Deck& deck) {
  parallel::MemoryRoom room(
      kernels::kCudaMemoryOnPaper_bytes,
      pinned_room(kernels::usable_memory_bytes(), static_cast<int>(deck.parallel.ranks())));
  room.habits = compute_habits(deck, kernels::DeviceKind::cuda, kernels::kCudaMemoryOnPaper_bytes);
  room.workspace_bytes = [deterministic = deck.device.deterministic](const kernels::StepShape& shape) {
    return kernels::cuda_scratch_bytes(shape, deterministic);
  };
  room.probe_bytes = probe_bytes(deck, kernels::DeviceKind::cuda, room);
  return room;
}

std::size_t probe_bytes(const io::Deck& deck, kernels::DeviceKind kind, const parallel::MemoryRoom& room) {
  return deck.detect.enabled ? resilience::DeviceProbe::bytes(kind, room.workspace_bytes({})) : 0;
}

}  // namespace tenax::app
