#include "app/device_choice.hpp"

#include <array>

#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::CudaPresence;
using kernels::Error;
using kernels::Scope;

namespace {

std::unique_ptr<kernels::Device> create_cuda(const io::Deck& deck, int index) {
  kernels::CudaOptions options;
  options.index = index;
  options.deterministic = deck.device.deterministic;
  options.stochastic_rounding = deck.device.stochastic_rounding;
  options.seed = static_cast<std::uint64_t>(deck.run.seed);
  return kernels::create_cuda_device(options);
}

// Keys that only a GPU can honour.
void check_keys_of_cpu(const io::Deck& deck, const std::string& reason) {
  const auto refuse = [&](bool asked, const char* key) {
    if (asked)
      throw Error(Scope::rank, std::string("device.") + key + " needs a GPU, and this run is on the CPU (" +
                                   reason + "): set it to false, or run where there is one");
  };
  refuse(deck.device.stochastic_rounding, "stochastic_rounding");
  refuse(deck.device.cuda_graph, "cuda_graph");
}

DeviceChoice create(const io::Deck& deck, const CudaPresence& presence, bool use_cuda, int rank_on_host,
                    int ranks_on_host) {
  DeviceChoice choice;
  if (!use_cuda) {
    const std::string reason = deck.device.kind == "cpu" ? "device.kind = \"cpu\""
                               : presence.reason.empty() ? "not every host has a GPU"
                                                         : presence.reason;
    check_keys_of_cpu(deck, reason);
    choice.device = kernels::create_cpu_device();
    choice.ranks_sharing = ranks_on_host;
    if (deck.device.kind == "auto") choice.note = "no GPU: " + reason;
    return choice;
  }
  const int devices = presence.devices > 0 ? presence.devices : 1;
  const int index = rank_on_host % devices;
  choice.device = create_cuda(deck, index);
  choice.ranks_sharing = ranks_on_host / devices + (index < ranks_on_host % devices ? 1 : 0);
  return choice;
}

}  // namespace

DeviceChoice choose_device(const io::Deck& deck, comm::World& world, comm::ControlGroup& control) {
  const CudaPresence presence = deck.device.kind == "cpu" ? CudaPresence{} : kernels::cuda_presence();
  std::array<double, 1> somebody_lacks = {presence.devices > 0 ? 0.0 : 1.0};
  control.all_reduce_max(somebody_lacks);
  const bool use_cuda = deck.device.kind == "cuda" || (deck.device.kind == "auto" && somebody_lacks[0] == 0);
  DeviceChoice choice;
  control.agree(
      [&] { choice = create(deck, presence, use_cuda, world.rank_on_host(), world.ranks_on_host()); });
  return choice;
}

DeviceChoice choose_device(const io::Deck& deck, int ranks) {
  const CudaPresence presence = deck.device.kind == "cpu" ? CudaPresence{} : kernels::cuda_presence();
  const bool use_cuda = deck.device.kind == "cuda" || (deck.device.kind == "auto" && presence.devices > 0);
  return create(deck, presence, use_cuda, 0, ranks);
}

MemoryRoom memory_room(const kernels::Device& device, int ranks_sharing, int ranks_on_host) {
  const std::size_t own = device.memory_bytes() / static_cast<std::size_t>(ranks_sharing);
  if (device.is_host_memory() || !device.has_data()) return own;
  return {own, kernels::create_cpu_device()->memory_bytes() / 2 / static_cast<std::size_t>(ranks_on_host)};
}

}  // namespace tenax::app
