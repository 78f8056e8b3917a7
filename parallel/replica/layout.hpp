// Layout: how a model is spread over ranks. `tenax plan` prints it and training builds it. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "model/gpt_config.hpp"
#include "model/gpt_stage.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/state/training_state.hpp"

namespace tenax::parallel {

/// Times and sizes that the emulated device is given instead of computing.
struct EmulatedLoad {
  PipelineCosts costs;               ///< what a stage's passes and a healthy link take
  std::size_t activation_bytes = 0;  ///< size of a message between stages
  std::size_t gradient_bytes = 0;    ///< size of one rank's weight gradients
};

/// A model, and how it shall be spread.
struct LayoutRequest {
  model::GptConfig model;
  const Optimizer* optimizer = &optimizer_of_name("adamw");
  GridShape grid;
  model::MicrobatchShape microbatch;
  int microbatches = 1;  ///< per pipeline, as the run begins
  /// The most that a pipeline may have in any step; 0 = `microbatches`. Replicas that lose others
  /// compute more.
  int most_microbatches = 0;
  bool may_have_fewer = false;  ///< than that, where the policy cannot hold so many within the limit
  const SchedulePolicy* policy = nullptr;
  /// Live microbatches that a stage may hold: one number or one per stage, 0 or none = what memory
  /// allows.
  std::vector<std::int64_t> activation_limit;
  bool fails_over = false;               ///< Layout::fails_over
  bool has_peers = false;                ///< Layout::has_peers
  bool offloads_optimizer = false;       ///< Layout::offloads_optimizer
  int replicas = 1;                      ///< over which gradients are summed
  std::int64_t gradient_wire_bytes = 4;  ///< of one element on its way between replicas
  std::optional<EmulatedLoad> emulated;

  /// The most microbatches of a step.
  int most() const { return std::max(microbatches, most_microbatches); }
  /// The limit asked for `stage`, at most most(); absent where memory decides.
  std::optional<int> asked_limit(std::size_t stage) const;
};

/// How a device computes a stage best.
struct ComputeHabits {
  std::int64_t logit_rows = model::GptConfig{}.logit_rows;  ///< what suits its products
  bool fuses_backward = false;  ///< a stage that is alone runs both parts of a backward pass together
};

/// Memory that one rank may fill, bytes. `host` is pinned memory, for the copy of the state that
/// checkpoints are written from and for activations that the device has no room for; 0 where the
/// device's memory is the host's.
struct MemoryRoom {
  MemoryRoom(std::size_t device_bytes, std::size_t host_bytes = 0) : device(device_bytes), host(host_bytes) {}
  std::size_t device, host;
  /// False: what does not fit is refused later, with all ranks of the host: a schedule that has to
  /// hold more is planned all the same, to know how much.
  bool is_firm = true;
  std::size_t probe_bytes = 0;  ///< of the device, that its tests keep
  ComputeHabits habits;         ///< the device's
  /// Device::scratch_bytes of the rank's device.
  std::function<std::size_t(const kernels::StepShape&)> workspace_bytes = [](const kernels::StepShape&) {
    return std::size_t{0};
  };
};

/// Where the activations of a stage's live microbatches can be. A slot holds one microbatch's.
struct SlotRoom {
  std::size_t device_bytes = 0, host_bytes = 0;  ///< for all slots
  std::size_t slot_bytes = 0;                    ///< size of one slot
  std::size_t boundary_bytes = 0;                ///< one slot's boundary tensors, which stay on the device
  int spare = 0;  ///< slots that let a message arrive while another leaves, where there is room for them
  bool is_firm = true;  ///< MemoryRoom::is_firm

  /// How many slots a schedule gets that holds at most `peak` activations.
  int slots_for(int peak) const { return peak + spare <= most() ? peak + spare : peak; }
  /// How many of `slots` are on the device at a time: all of them where nothing can be elsewhere.
  int on_device(int slots) const;
  /// The most slots that there is room for.
  std::int64_t most() const;
};

/// Memory of one rank of a stage, bytes. Not in it: what a driver and its libraries take before the
/// first allocation and for their kernels (of a GPU some hundred MB, which the device has kept
/// back), and NCCL's buffers.
struct RankMemory {
  StateMemory state;
  std::size_t activations = 0;  ///< all slots that are on the device at a time
  std::size_t scratch = 0;      ///< tensors between operations, and sent ones until they are acknowledged
  std::size_t workspace = 0;    ///< within operations; taken before the first step
  std::size_t probe = 0;        ///< what tests of the device keep beside the replica
  int slots = 0;
  std::size_t host_activations = 0;  ///< pinned memory for the others; not of the device
  /// Pinned memory that checkpoints are written from, and the home of an optimizer that is not the device's.
  std::size_t host_state = 0;
  std::size_t total() const { return state.total() + activations + scratch + workspace + probe; }
};

/// Bytes that one rank sends in a step, per kind of link. `replica`: of the ring over replicas,
/// all of which take part.
struct StepTraffic {
  double tensor = 0, pipeline = 0, data = 0, replica = 0;
};

struct Layout {
  model::GptConfig config;
  const Optimizer* optimizer = nullptr;
  const SchedulePolicy* policy = nullptr;
  GridShape grid;
  model::MicrobatchShape microbatch;
  int most_microbatches = 1;        ///< of a pipeline in any step
  bool fails_over = false;          ///< a direct path that breaks is left for the delegates
  bool has_peers = false;           ///< there are other replicas, over which gradients are summed too
  bool offloads_optimizer = false;  ///< its home is the host's memory; ranks then keep their places
  bool fuses_backward = false;      ///< ComputeHabits::fuses_backward
  std::vector<model::StageSpan> spans;
  std::vector<std::int64_t> parameters_of_stage;  ///< per rank of the stage
  bool has_data = true;                           ///< false: the emulated device's
  PipelineCosts costs;    ///< predicted, at `flop_per_second` a rank; or the emulated device's
  ActivationLimit limit;  ///< kept by the schedule and by every later one
  std::vector<SlotRoom> slot_room_of_stage;  ///< empty where there is no data
  PipelineSchedule schedule;                 ///< as the run begins, of every pipeline
  std::vector<RankMemory> memory_of_stage;
  std::vector<StepTraffic> traffic_of_stage;

  /// Whether both parts of a backward pass always run together: what recomputes cannot split them, and a stage that
  /// is alone has no reason to where that is slower.
  bool never_splits_backward() const { return config.recomputes || (fuses_backward && grid.pipeline == 1); }
};

/// What of a layout follows from the request and the kind of device alone: model, optimizer, grid, microbatch.
Layout begin_layout(const LayoutRequest& request, const ComputeHabits& habits);

SumMemory sum_memory_of(const Layout& layout);
OptimizerHome optimizer_home_of(const Layout& layout);

/// The schedule for healthy links of steps that have `microbatches` a pipeline, between 1 and
/// layout.most_microbatches. Equal on every rank.
PipelineSchedule plan_schedule(const Layout& layout, int microbatches);

/// flop_per_second: the matrix-product rate of one rank. room: of one rank; bounds the activations
/// where no activation limit is asked for. A schedule for healthy links stays on the device where
/// it can; those for slow links may use the host's room too. Throws Error(usage) for a request that
/// no machine can fulfil, Error(rank) for one that this room cannot.
Layout plan_layout(const LayoutRequest& request, double flop_per_second, const MemoryRoom& room);

}  // namespace tenax::parallel
