// RunMachine: what a rank of a run computes on and talks through: its device, its worlds,
// its transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/training/run_rank.hpp"
#include "app/training/run_transport.hpp"
#include "comm/prepared_world.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/emulated_device.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "resilience/diagnosis/device_probe.hpp"
#include "resilience/faults/compute_faults.hpp"
#include "resilience/faults/fault_injector.hpp"
#include "resilience/faults/hang_faults.hpp"
#include "resilience/faults/replica_fault_injector.hpp"
#include "resilience/recorder/recorded_steps.hpp"

namespace tenax::app {

/// Every call is collective but the getters, and throws comm::AgreedError for what one
/// rank cannot do.
class RunMachine {
 public:
  /// Makes the device, and measures its rate of matrix products. On a GPU it rehearses what the run will do
  /// (parallel/replica/rehearsal.hpp), with the algorithms of an earlier run: `earlier_algorithms`, as rank 0
  /// has them. `rank` must outlive it.
  explicit RunMachine(RunRank& rank, const std::string& earlier_algorithms = {});
  /// What the devices of all ranks have chosen, on rank 0; empty on others.
  std::string algorithms() const;

  /// The layout for the smallest memory that any rank has.
  parallel::Layout plan_layout();
  /// Equal on all ranks, after plan_layout(): ranks may change places (parallel::swap_bytes).
  bool has_room_for_swap() const { return has_room_for_swap_; }
  /// What each rank keeps for that, bytes.
  std::size_t spare_bytes() const { return spare_bytes_; }
  /// Says on the console what a person should know of the machine, and refuses a layout that the
  /// hosts have no memory for.
  void check(const parallel::Layout& layout);
  /// What pipelines are made of: the world, with the faults that the deck injects, and what they
  /// need besides MPI. Must not outlive this object.
  parallel::PipelineContext create_context(const parallel::Layout& layout);

  /// Makes the transport where ranks have none yet: for what moves between them now and then.
  void connect_ranks();
  /// By world rank; empty without a transport.
  const std::vector<comm::Peer>& peers() const { return peers_; }

  /// With what the device is tested when the run has become slow: takes some tenths of a second, and
  /// memory (DeviceProbe). Null where the deck wants nothing looked for.
  resilience::DeviceProbe* create_probe();

  kernels::Device& device() { return *device_; }
  const kernels::Device& device() const { return *device_; }
  /// Null where ranks have nothing to say to each other but over MPI. In a replica never null once
  /// there is a context.
  comm::Transport* transport() { return transport_.get(); }
  /// In a replica with a context: what its state travels over to others; transport() where the deck names no network
  /// for it.
  comm::Transport& state_transport() { return state_transport_ ? *state_transport_ : *transport_; }
  bool has_state_transport() const { return state_transport_ != nullptr; }
  /// What that goes over; nothing without one.
  const std::optional<TransportText>& transport_text() const { return run_transport_.text(); }
  PathNews& path_news() { return run_transport_.news(); }
  /// Null unless that is the device.
  kernels::EmulatedDevice* emulated() const { return emulated_; }
  /// Null where the deck does not slow this rank down.
  resilience::ComputeFaults* compute_faults() const { return compute_faults_.get(); }
  /// Null where the deck injects no faults.
  resilience::FaultInjector* injector() const { return injector_.get(); }
  /// What a replica comes to in a step is told here.
  resilience::StepPoints& step_points();
  /// How a replica reaches the membership service.
  comm::MessageConnector message_connector() const;
  /// The rate of matrix products of all ranks together; 0 for the emulated device.
  double flop_per_second() const { return flop_per_second_; }
  /// False where ranks share cores: who is slow is then the operating system's choice.
  bool judges_times() const { return judges_times_; }

 private:
  void create_device();
  void find_compute_faults();
  void find_hang_faults();
  resilience::FaultSeat fault_seat() const;
  void create_emulated_device();
  void use_nccl();
  void rehearse(const std::string& earlier_algorithms);
  void agree_on_habits();
  void say_notes() const;
  void say_idle_faults() const;
  void measure();
  void compare_with_cores();
  comm::World& observed_world();
  void create_transport();
  void inject_into_replica();
  void create_state_transport();

  RunRank& rank_;
  std::unique_ptr<resilience::ComputeFaults> compute_faults_;
  std::unique_ptr<resilience::HangFaults> hang_faults_;  // null where the deck does not make this rank hang
  std::unique_ptr<kernels::Device> device_;
  kernels::EmulatedDevice* emulated_ = nullptr;  // device_, where it is that
  std::string device_note_;
  int ranks_sharing_device_ = 1;
  parallel::ComputeHabits habits_;  // equal on all ranks
  std::unique_ptr<comm::World> nccl_world_;
  std::unique_ptr<comm::PreparedWorld> prepared_world_;  // nccl_world_, with what the rehearsal made
  std::size_t available_bytes_ = 0;  // the host's memory that is free before the run takes any
  std::unique_ptr<comm::World> recorded_world_;
  std::unique_ptr<resilience::FaultInjector> injector_;
  std::unique_ptr<comm::World> injected_world_, hanging_world_;
  resilience::StepPoints nobody_;
  std::unique_ptr<resilience::ReplicaFaultInjector>
      replica_injector_;  // in a replica whose deck injects faults
  std::optional<resilience::RecordedSteps> recorded_steps_;
  RunTransport run_transport_;
  std::int64_t locked_bytes_ = 0;  // of a layout's connections
  std::unique_ptr<comm::Transport> transport_, state_transport_;
  std::vector<comm::Peer> peers_;
  bool judges_times_ = true;
  bool has_room_for_swap_ = false;
  std::size_t spare_bytes_ = 0;
  double flop_per_second_ = 0;
  std::unique_ptr<resilience::DeviceProbe> probe_;  // of device_
};

}  // namespace tenax::app
