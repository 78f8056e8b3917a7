#include "app/options.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "app/units.hpp"
#include "comm/ftar/ftar_options.hpp"
#include "comm/nccl.hpp"
#include "comm/transport/transports.hpp"
#include "comm/verbs.hpp"
#include "io/deck/deck.hpp"
#include "io/deck/model_sizes.hpp"
#include "io/deck/verbs_device.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/device.hpp"
#include "kernels/emulated_device.hpp"
#include "kernels/random.hpp"
#include "kernels/update_coefficients.hpp"
#include "parallel/layout/batch_plan.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "parallel/replica/swap_memory.hpp"
#include "parallel/schedule/timeline.hpp"
#include "parallel/state/optimizer.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::app {
namespace {

bool is_emulated(const io::Deck& deck) { return deck.device.kind == io::DeviceKind::emulated; }

const parallel::SchedulePolicy& policy_of(const io::Deck& deck) {
  return parallel::policy_of_name(deck.pipeline.schedule.word());
}

parallel::PathChoice path_choice(io::P2p p2p) {
  switch (p2p) {
    case io::P2p::direct:
      return parallel::PathChoice::direct_only;
    case io::P2p::delegated:
      return parallel::PathChoice::delegated_only;
    case io::P2p::automatic:
      break;
  }
  return parallel::PathChoice::automatic;
}

// Of a pipeline that relieves slow ones, each of which keeps one at least. Twice its share is what there is to relieve where half of
// the pipelines are slow.
int most_microbatches(int even, int pipelines) {
  return std::min(2 * even, even * pipelines - (pipelines - 1));
}

double of_stage_s(const std::vector<double>& times_ms, std::size_t stage) {
  if (times_ms.empty()) return 0;
  return times_ms[times_ms.size() == 1 ? 0 : stage] * kSecondsPerMs;
}

/// For so long a message between stages holds the wire of a link that nothing is wrong with.
double message_s(const io::DeviceSection& device) {
  return device.link_gbps > 0 ? static_cast<double>(device.activation_bytes) * 8 / (device.link_gbps * 1e9)
                              : 0;
}

/// A path that is silent has been given up, at the latest, and another one taken.
double longest_reroute_s(const io::Deck& deck, const std::vector<std::string>& addresses) {
  constexpr double kAnother_s = 1;
  const bool has_verbs = std::any_of(addresses.begin(), addresses.end(), [](const std::string& address) {
    return address.starts_with("verbs:");
  });
  return has_verbs ? 2 * verbs_settings(deck).silence_s + kAnother_s : 0;
}

}  // namespace

model::GptConfig gpt_config(const io::ModelSizes& sizes, kernels::DType compute_dtype) {
  return {.num_layers = sizes.num_layers,
          .hidden_size = sizes.hidden_size,
          .num_attention_heads = sizes.num_attention_heads,
          .ffn_hidden_size = sizes.ffn_hidden_size,
          .seq_length = sizes.seq_length,
          .vocab_size = sizes.vocab_size,
          .compute_dtype = compute_dtype};
}

model::GptConfig gpt_config(const io::ModelSection& section) {
  return gpt_config(
      section, section.compute_dtype == io::ComputeDtype::bf16 ? kernels::DType::bf16 : kernels::DType::f32);
}

parallel::BatchPlan batch_plan(const io::Deck& deck, parallel::SampleRange samples, int data_rank) {
  return parallel::BatchPlan::uniform(samples, deck.batch.micro_batch_size,
                                      static_cast<int>(deck.parallel.data_parallel_size), data_rank);
}

parallel::SampleRange samples_of_step(const io::Deck& deck, std::int64_t step) {
  return {step * deck.batch.global_batch_size, deck.batch.global_batch_size};
}

const parallel::Optimizer& optimizer_of(const io::Deck& deck) {
  return parallel::optimizer_of_name(deck.optimizer.kind.word());
}

parallel::LayoutRequest layout_request(const io::Deck& deck) {
  parallel::LayoutRequest request;
  request.model = gpt_config(deck.model);
  request.model.recomputes = deck.device.recompute == io::Recompute::gelu_layernorm;
  request.optimizer = &optimizer_of(deck);
  request.grid = {.tensor = static_cast<int>(deck.parallel.tensor_parallel_size),
                  .pipeline = static_cast<int>(deck.parallel.pipeline_parallel_size),
                  .data = static_cast<int>(deck.parallel.data_parallel_size)};
  request.microbatch = {deck.batch.micro_batch_size, deck.model.seq_length};
  request.most_microbatches = batch_plan(deck, samples_of_step(deck, 0), 0).microbatches();
  const int replicas = static_cast<int>(deck.parallel.replicas);
  request.microbatches = (request.most_microbatches + replicas - 1) / replicas;
  request.may_have_fewer = may_mitigate(deck) && deck.mitigate.strategies.has(io::Mitigation::microbatches);
  if (request.may_have_fewer)
    request.most_microbatches = most_microbatches(request.microbatches, request.grid.data);
  request.has_peers = replicas > 1;
  request.offloads_optimizer = deck.device.offload_optimizer;
  request.replicas = replicas;
  request.gradient_wire_bytes = deck.replicas.wire_dtype == io::ComputeDtype::bf16 ? 2 : 4;
  request.policy = &policy_of(deck);
  request.activation_limit = deck.pipeline.activation_limit;
  request.fails_over = request.grid.pipeline > 1 && deck.pipeline.p2p == io::P2p::automatic;
  if (is_emulated(deck)) request.emulated = emulated_load(deck);
  return request;
}

parallel::Layout plan_layout(const io::Deck& deck, double flop_per_second, const parallel::MemoryRoom& room) {
  return parallel::plan_layout(layout_request(deck), flop_per_second, room);
}

parallel::PipelineOptions pipeline_options(const io::Deck& deck) {
  parallel::PipelineOptions options;
  options.paths = path_choice(deck.pipeline.p2p);
  options.deadline_s = deck.comm.deadline_s;
  options.sockets_per_link = static_cast<int>(deck.comm.sockets_per_link);
  options.follows_delays = policy_of(deck).follows_delays;
  options.emulated.model = deck.device.direct_model == io::DirectModel::shared_channel
                               ? comm::DirectModel::shared_channel
                               : comm::DirectModel::send_queue;
  options.emulated.depth = static_cast<int>(deck.device.send_queue_depth);
  options.emulated.paired = policy_of(deck).pairs_messages;
  options.emulated.link_gbps = deck.device.link_gbps;
  options.emulated.deadline_s = deck.comm.deadline_s;
  return options;
}

std::vector<resilience::Strategy> allowed_strategies(const io::MitigateSection& section) {
  using resilience::Strategy;
  std::vector<Strategy> allowed;
  for (const io::Mitigation mitigation : section.strategies.values())
    allowed.push_back(mitigation == io::Mitigation::microbatches ? Strategy::microbatches
                      : mitigation == io::Mitigation::ring       ? Strategy::ring
                                                                 : Strategy::swap);
  if (section.restart == io::RestartElsewhere::exit) allowed.push_back(Strategy::restart);
  return allowed;
}

bool may_mitigate(const io::Deck& deck) { return deck.parallel.replicas == 1; }

std::string idle_strategies(const io::Deck& deck) {
  const std::vector<io::Mitigation> strategies = deck.mitigate.strategies.values();
  if (strategies.empty() || strategies == io::MitigateSection().strategies.values()) return {};
  return "mitigate.strategies has no effect under tenax launch: what is slow is told of, and nothing is done "
         "against "
         "it; strategies = [] says so";
}

std::size_t spare_bytes(const io::Deck& deck, const parallel::Layout& layout, bool swap_fits) {
  const bool may_swap = swap_fits && may_mitigate(deck) && deck.mitigate.strategies.has(io::Mitigation::swap);
  return may_swap ? parallel::spare_bytes(layout) : 0;
}

resilience::AdaptationSettings adaptation_settings(const io::Deck& deck) {
  using Kind = parallel::TransferModel::Kind;
  resilience::AdaptationSettings settings;
  settings.paths = path_choice(deck.pipeline.p2p);
  settings.reschedule = policy_of(deck).follows_delays;
  settings.seed = static_cast<std::uint64_t>(deck.run.seed);
  // MPI takes what it is given; a link carries one message after the other in each direction.
  settings.direct.kind = Kind::shared_channel;
  settings.direct.paired = true;
  if (!is_emulated(deck)) return settings;
  settings.skipped_iterations = 0;
  settings.direct.paired = policy_of(deck).pairs_messages;
  if (deck.device.direct_model == io::DirectModel::send_queue) {
    settings.direct.kind = Kind::send_queue;
    settings.direct.queue_depth = static_cast<int>(deck.device.send_queue_depth);
  }
  settings.forecast.wire_s = message_s(deck.device);
  settings.delegate_overhead_s = 2 * kSecondsPerMs * deck.device.copy_ms;
  return settings;
}

// Where messages take a time that is known, automatic paths are over delegates from the first steps on if that is quicker.
parallel::TransferModel healthy_transfers(const io::Deck& deck, const parallel::Layout& layout) {
  const parallel::TransferModel delegated;
  if (deck.pipeline.p2p == io::P2p::delegated) return delegated;
  const resilience::AdaptationSettings settings = adaptation_settings(deck);
  if (deck.pipeline.p2p == io::P2p::direct || layout.costs.wire_s == 0) return settings.direct;
  parallel::PipelineCosts copied = layout.costs;
  for (double& delay_s : copied.link_delay_s) delay_s += settings.delegate_overhead_s;
  const double direct_s = parallel::simulate(layout.schedule, layout.costs, settings.direct).makespan_s;
  const double delegated_s = parallel::simulate(layout.schedule, copied, delegated).makespan_s;
  return delegated_s < direct_s ? delegated : settings.direct;
}

kernels::UpdateRule update_rule(const io::OptimizerSection& section, double learning_rate, double tokens,
                                std::int64_t number) {
  return {.learning_rate = learning_rate,
          .beta1 = section.adam_beta1,
          .beta2 = section.adam_beta2,
          .epsilon = section.adam_eps,
          .weight_decay = section.weight_decay,
          .tokens = tokens,
          .clip_grad = section.clip_grad,
          .step = number};
}

comm::FtarOptions exchange_options(const io::Deck& deck, kernels::DeviceKind device,
                                   const std::vector<std::string>& addresses) {
  constexpr std::size_t kGpuKib = 8192;  // as the paper's (ft-hsdp, 4.2)
  comm::FtarOptions options;
  if (deck.replicas.chunk_kib > 0)
    options.chunk_bytes = static_cast<std::size_t>(deck.replicas.chunk_kib) * kBytesPerKib;
  else if (device == kernels::DeviceKind::cuda)
    options.chunk_bytes = kGpuKib * kBytesPerKib;
  options.chunks_in_flight = static_cast<int>(deck.replicas.chunks_in_flight);
  options.connections = static_cast<int>(deck.replicas.connections);
  options.wire =
      deck.replicas.wire_dtype == io::ComputeDtype::bf16 ? comm::WireType::bf16 : comm::WireType::fp32;
  // Ranks of a replica wait in a group for one that waits for another replica: they must not give up first.
  options.deadline_s = deck.comm.deadline_s / 2;
  // One that computes is waited for, and then for its state: what stands still, HangWatch finds out, where it can.
  constexpr double kLongestStep_s = 900;
  options.longest_s = kLongestStep_s + kSecondsPerMs * static_cast<double>(deck.replicas.join_wait_ms);
  options.alive_s = kSecondsPerMs * static_cast<double>(deck.replicas.heartbeat_ms);
  options.dead_s = std::max(kSecondsPerMs * static_cast<double>(deck.replicas.dead_ms),
                            longest_reroute_s(deck, addresses));
  options.link_gbps = is_emulated(deck) ? deck.device.link_gbps : 0;
  return options;
}

// A file server that fails over, or starts again, takes some minutes.
double file_patience_s(const io::Deck& deck) {
  constexpr double kLeast_s = 3600;
  return std::max(kLeast_s, deck.comm.deadline_s);
}

// Other replicas wait for one that restores. Where theirs came, the file server answers, and it is the host that does not.
double restore_patience_s(const io::Deck& deck) {
  constexpr double kDeadlines = 10;
  if (deck.parallel.replicas == 1) return file_patience_s(deck);
  return std::min(kDeadlines * deck.comm.deadline_s, file_patience_s(deck));
}

comm::TransportKind transport_kind(io::TransportKind kind) {
  switch (kind) {
    case io::TransportKind::tcp:
      return comm::TransportKind::tcp;
    case io::TransportKind::shared_memory:
      return comm::TransportKind::shared_memory;
    case io::TransportKind::verbs:
      return comm::TransportKind::verbs;
    case io::TransportKind::automatic:
      break;
  }
  return comm::TransportKind::automatic;
}

comm::VerbsPortOptions verbs_port_options(const io::Deck& deck) {
  comm::VerbsPortOptions options{.patterns = {},
                                 .interfaces = deck.comm.interfaces,
                                 .gid_index = static_cast<int>(deck.verbs.gid_index)};
  for (const std::string& text : deck.verbs.devices) {
    const io::VerbsDevice device = io::verbs_device(text).value();  // the deck has been checked
    options.patterns.push_back(
        {device.name, static_cast<int>(device.port), static_cast<int>(device.local_rank)});
  }
  return options;
}

comm::VerbsSettings verbs_settings(const io::Deck& deck) {
  const io::VerbsSection& section = deck.verbs;
  return {.ports = verbs_port_options(deck),
          .has_other_ways = deck.comm.transport != io::TransportKind::verbs,
          .ring_bytes = static_cast<std::size_t>(section.ring_kib) * kBytesPerKib,
          .silence_s = kSecondsPerMs * static_cast<double>(section.silence_ms),
          .service_level = static_cast<int>(section.service_level),
          .traffic_class = static_cast<int>(section.traffic_class),
          .gpu_direct = section.gpu_direct != io::GpuDirect::off};
}

kernels::CudaOptions cuda_options(const io::Deck& deck, int index) {
  kernels::CudaOptions options;
  options.index = index;
  options.deterministic = deck.device.deterministic;
  options.stochastic_rounding = deck.device.stochastic_rounding;
  options.seed = static_cast<std::uint64_t>(deck.run.seed);
  return options;
}

// Gradients are summed behind backward passes. What the other groups do, passes wait for.
comm::NcclUse nccl_use(const io::Deck& deck) {
  return {.keeps_order = deck.device.deterministic,
          .overlapping = {parallel::name_of(parallel::GroupKind::data)}};
}

kernels::EmulatedOptions emulated_device_options(const io::Deck& deck, int rank) {
  kernels::EmulatedOptions options;
  options.copy_s = deck.device.copy_ms * kSecondsPerMs;
  options.probe_s = deck.device.probe_ms * kSecondsPerMs;
  options.jitter_percent = deck.device.jitter_percent;
  options.seed = kernels::CounterRandom(static_cast<std::uint64_t>(deck.run.seed), "jitter")
                     .bits(static_cast<std::uint64_t>(rank));
  return options;
}

parallel::EmulatedLoad emulated_load(const io::Deck& deck) {
  const io::DeviceSection& device = deck.device;
  parallel::EmulatedLoad load{.costs = {},
                              .activation_bytes = static_cast<std::size_t>(device.activation_bytes),
                              .gradient_bytes = static_cast<std::size_t>(device.gradient_bytes)};
  const auto stages = static_cast<std::size_t>(deck.parallel.pipeline_parallel_size);
  for (std::size_t s = 0; s < stages; ++s)
    load.costs.stages.push_back({.forward_s = of_stage_s(device.forward_ms, s),
                                 .backward_input_s = of_stage_s(device.backward_input_ms, s),
                                 .backward_weight_s = of_stage_s(device.backward_weight_ms, s)});
  if (device.link_gbps > 0 && stages > 1) load.costs.link_delay_s.assign(stages - 1, message_s(device));
  // Where no link may be delegated, orders are not planned for delegates.
  if (deck.pipeline.p2p != io::P2p::direct) load.costs.wire_s = message_s(device);
  return load;
}

}  // namespace tenax::app
