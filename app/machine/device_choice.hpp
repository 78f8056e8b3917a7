// DeviceChoice: which device a rank computes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "io/deck/deck.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

struct DeviceChoice {
  std::unique_ptr<kernels::Device> device;
  std::string note;       ///< one line for people: why it is not what one might expect; may be empty
  int ranks_sharing = 1;  ///< how many ranks of this host have its memory
};

/// Collective: the device of the deck's kind. "auto" means CUDA only if every rank's host has a
/// GPU. Ranks of a host take its GPUs in turn, by slot_of(). Throws comm::AgreedError for a machine, or a
/// device, that cannot do what the deck asks for.
DeviceChoice choose_device(const io::Deck& deck, comm::World& world, comm::ControlGroup& control,
                           const std::vector<int>& slots = {});

/// The same for a program that is alone, such as `tenax plan` for all ranks of a deck on one host.
DeviceChoice choose_device(const io::Deck& deck, int ranks);

/// Collective: this rank's number among all that share its host, those of other replicas too. `slots`: of each
/// rank, as the supervisor counts them (JoinFile::slots). That of the first rank on the host counts, so that ranks
/// of a host differ wherever they were put. None: no other replica is known of.
int slot_of(const comm::World& world, comm::ControlGroup& control, const std::vector<int>& slots);

/// Collective: how many ranks, this one included, have the memory of `device`: all of the host's where it is that,
/// else those that see the same one.
int ranks_sharing(const kernels::Device& device, const comm::World& world, comm::ControlGroup& control);

/// How a rank of this deck computes a stage best on a device of this kind, of which it has `total_bytes`
/// (Device::total_bytes over the ranks that share it). Equal on ranks that have equal GPUs.
parallel::ComputeHabits compute_habits(const io::Deck& deck, kernels::DeviceKind kind,
                                       std::size_t total_bytes);

/// How much of the host's memory a run plans to take, where `available_bytes` are available: all
/// but what is left for code, libraries and the pages that describe memory. All that the host has,
/// if the deck says to ignore what is available.
std::size_t host_memory_to_fill(const io::Deck& deck, std::size_t available_bytes);

/// What one rank may fill, where its host's ranks together may fill `host_bytes` of the host's
/// memory. With a GPU, half of that besides the GPU's. `device` must outlive the room.
/// Its probe and habits are left to the caller.
parallel::MemoryRoom memory_room(const kernels::Device& device, int ranks_sharing, int ranks_on_host,
                                 std::size_t host_bytes);

/// The same for a deck that wants GPUs, on a machine that has none: an H200 for each rank, all of
/// them on this host.
parallel::MemoryRoom memory_room_on_paper(const io::Deck& deck);

/// What a rank that has `room` keeps on its device to test it with (MemoryRoom::probe_bytes), where the
/// deck has slow parts looked for.
std::size_t probe_bytes(const io::Deck& deck, kernels::DeviceKind kind, const parallel::MemoryRoom& room);

}  // namespace tenax::app
