// Deck: the input of a run, as typed values. deck_table.cpp declares each key once, with its
// meaning, range and unit. Parsing, checking, --deck-help, inputs/reference.toml and the resolved
// deck follow that table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/deck/choice.hpp"
#include "io/deck/choice_list.hpp"
#include "io/deck/model_sizes.hpp"

namespace tenax::io {

struct RunSection {
  std::string name;
  std::string output_dir;
  std::int64_t train_steps = 0;
  std::int64_t seed = 1;
  std::int64_t log_interval = 1;
  std::int64_t eval_interval = 0;
  std::int64_t eval_steps = 20;
  std::int64_t profile_interval = 0;
  double max_minutes = 0;
  bool ignore_memory = false;
  bool tensorboard = false;
  std::string resume = "auto";  ///< "auto", "never" or an absolute path

  bool resumes_newest() const { return resume == "auto"; }
  bool never_resumes() const { return resume == "never"; }
};

/// Resolved: ffn_hidden_size is never 0 after parsing.
struct ModelSection : ModelSizes {
  Choice<ComputeDtype> compute_dtype = ComputeDtype::fp32;
  std::string init_weights;  ///< absolute path or empty
  /// An emulated run without a model: the sizes only suit the layout, and the resolved deck leaves
  /// them out.
  bool is_placeholder = false;
};

struct DataSource {
  std::string file;   ///< absolute path of a file, a folder or a pattern (io/file_names.hpp)
  double weight = 0;  ///< 0: the number of its tokens
};

struct DataSection {
  std::vector<DataSource> train, validation;
  /// Empty: unstated. In a run's own deck: unknown (app/training/data_tokenizer.hpp).
  std::string tokenizer;
  std::string vocab_dir;
  std::string order = "shuffled";

  bool tokens_are_bytes() const { return tokenizer == "bytes"; }
  /// Whether it is known what the tokens stand for.
  bool has_vocabulary() const { return tokens_are_bytes() || (tokenizer == "gpt2" && !vocab_dir.empty()); }
};

struct BatchSection {
  std::int64_t global_batch_size = 0, micro_batch_size = 1;
};

struct OptimizerSection {
  Choice<OptimizerKind> kind = OptimizerKind::adamw;
  double lr = 0, min_lr = 0;
  Choice<LrSchedule> lr_schedule = LrSchedule::cosine;
  std::int64_t lr_warmup_steps = 0, lr_decay_steps = 0;  ///< resolved: lr_decay_steps is train_steps for 0
  double weight_decay = 0.1, adam_beta1 = 0.9, adam_beta2 = 0.95, adam_eps = 1e-8, clip_grad = 1.0;
};

struct ParallelSection {
  std::int64_t tensor_parallel_size = 1, pipeline_parallel_size = 1, data_parallel_size = 1, replicas = 1;
  std::int64_t ranks() const { return tensor_parallel_size * pipeline_parallel_size * data_parallel_size; }
};

struct PipelineSection {
  Choice<Schedule> schedule = Schedule::adaptive;
  Choice<P2p> p2p = P2p::automatic;
  std::vector<std::int64_t> activation_limit;  ///< empty = from memory; one, or one per stage
};

struct CommSection {
  Choice<TransportKind> transport = TransportKind::automatic;
  double deadline_s = 60;
  std::vector<std::string> interfaces;
  std::int64_t sockets_per_link = 0;
};

/// RDMA, where comm.transport allows it.
struct VerbsSection {
  std::vector<std::string> devices;  ///< as io/deck/verbs_device.hpp reads them; empty = every usable port
  std::int64_t gid_index = -1;       ///< -1: that of an address in comm.interfaces
  std::int64_t silence_ms = 1000, ring_kib = 1024, service_level = 0, traffic_class = 0;
  Choice<GpuDirect> gpu_direct = GpuDirect::automatic;
};

struct DeviceSection {
  Choice<DeviceKind> kind = DeviceKind::automatic;
  std::int64_t threads = 1;  ///< of a CPU rank
  bool deterministic = true, stochastic_rounding = false, cuda_graph = false, offload_optimizer = false;
  Choice<Recompute> recompute = Recompute::none;
  // The emulated device's alone. Times are of one microbatch: one number, or one per stage.
  std::vector<double> forward_ms, backward_input_ms, backward_weight_ms;
  Choice<DirectModel> direct_model = DirectModel::send_queue;
  std::int64_t send_queue_depth = 1;
  std::int64_t activation_bytes = 0;  ///< size of a boundary tensor; resolved: the model's for 0
  std::int64_t gradient_bytes = 0;    ///< size of one rank's weight gradients; resolved likewise
  std::int64_t state_bytes = 0;       ///< what a rank moves in a swap; resolved: 3 x gradients in fp32 for 0
  double link_gbps = 0, copy_ms = 0, optimizer_ms = 0, probe_ms = 5, jitter_percent = 0;
};

struct CheckpointSection {
  std::int64_t interval = 0, keep = 3;
  double interval_minutes = 30;
  std::string dir;  ///< absolute after parsing
};

/// Finding what is slow (Greyhound, ATC 2025).
struct DetectSection {
  bool enabled = true;
  double min_change = 0.10, hazard = 250;
  std::int64_t warmup = 5;
  double suspect = 1.1;
  Choice<Validate> validate = Validate::automatic;
  std::vector<double> probe_mb = {16, 32, 64};  ///< never empty
  double probe_seconds = 3;
};

/// Doing what pays against what is slow (Greyhound, ATC 2025).
struct MitigateSection {
  /// Resolved: empty where nothing is detected or there are several replicas, unless the deck states some.
  ChoiceList<Mitigation> strategies = {Mitigation::ring, Mitigation::swap};
  Choice<RestartElsewhere> restart = RestartElsewhere::never;
  double restart_cost_s = 0;  ///< 0: estimated
  double min_gain = 0.02;     ///< of an iteration
  std::int64_t heal_steps = 8;
};

/// Copies of the whole that may die and come back, one MPI job each, under `tenax launch`.
struct ReplicasSection {
  Choice<ReplicaBatch> batch = ReplicaBatch::keep;
  Choice<LrIntervention> lr_intervention = LrIntervention::none;
  std::int64_t min_replicas = 1;
  Choice<Launcher> launcher = Launcher::automatic;
  std::vector<std::string> hosts;  ///< "NAME" or "NAME:SLOTS"; empty = this machine, or the allocation
  std::string remote_shell = "ssh";
  std::int64_t restart_limit = 5;
  double restart_delay_s = 0;
  std::int64_t heartbeat_ms = 100, dead_ms = 1000, join_wait_ms = 1000;
  double service_wait_s = 600;
  std::string listen;  ///< "ADDRESS:PORT", or empty
  Choice<ComputeDtype> wire_dtype = ComputeDtype::fp32;
  std::int64_t chunk_kib = 0, chunks_in_flight = 4, connections = 1;
  std::vector<std::string> zones;
  std::int64_t warm_spares = 0;
  std::vector<std::string> state_interfaces;
  double state_gbps = 0;
  std::string store = "file", store_user, store_ca;
  double hang_factor = 3;
  std::int64_t digest_steps = 16;
};

/// Why slow_compute is refused on a GPU, by the deck or when one is found.
inline constexpr const char* kCannotSlowGpu =
    "slow_compute slows the CPU and the emulated device; a GPU's operations cannot be slowed from outside: "
    "use device.kind = \"cpu\" or \"emulated\"";

/// Why bit_flip is refused elsewhere, likewise.
inline constexpr const char* kCannotFlip =
    "bits are flipped in the memory of a rank that computes on the CPU: use device.kind = \"cpu\"";

/// One [[inject]] entry: a fault that holds while from_step <= step < to_step, and from_s <= seconds
/// since the first step began < to_s. Faults of processes and of the memory of ranks come once, in
/// the first incarnation that reaches them.
struct InjectEntry {
  Choice<FaultKind> kind = FaultKind::unset;
  std::int64_t from_step = 0, to_step = 0;           ///< to_step 0: to the end of the run
  double from_s = 0, to_s = 0;                       ///< to_s 0: likewise
  std::vector<std::int64_t> stages, ranks;           ///< two neighbours or two ranks
  std::int64_t data = -1;                            ///< which pipeline; -1 = all
  double delay_ms = 0, gbps = 0, per_packet_ms = 0;  ///< gbps 0: all of the bandwidth is left
  std::int64_t packet_bytes = 0;
  double factor = 0;                    ///< of slow_compute: at least 1; 0 = a trace says it
  std::string trace;                    ///< absolute path or empty
  std::string path;                     ///< "direct" or an address
  std::vector<std::int64_t> replicas;   ///< two, between which messages are late or lost
  std::int64_t replica = -1, rank = 0;  ///< rank: within the replica; -1 = its mpirun
  Choice<FaultSignal> signal = FaultSignal::kill;
  double stop_s = 0;  ///< 0: for good
  Choice<FaultPoint> point = FaultPoint::passes;
  bool service = false;  ///< the partition is between the replica and the service
  double seconds = 0;    ///< of the partition
  bool repeat = false;   ///< in each incarnation
  Choice<HangPlace> where = HangPlace::pass;
  std::string tensor;
  Choice<FlippedPart> part = FlippedPart::weight;
  std::int64_t element = -1, bit = -1;  ///< -1: drawn by the seed
};

struct Deck {
  RunSection run;
  ModelSection model;
  DataSection data;
  BatchSection batch;
  OptimizerSection optimizer;
  ParallelSection parallel;
  PipelineSection pipeline;
  CommSection comm;
  VerbsSection verbs;
  DeviceSection device;
  CheckpointSection checkpoint;
  DetectSection detect;
  MitigateSection mitigate;
  ReplicasSection replicas;
  std::vector<InjectEntry> inject;
};

/// Reads, overrides, checks and resolves a deck. Each of `overrides` is "section.key=value".
/// Relative paths become absolute: files relative to the deck, or to `folder` where one is given, output_dir to the working
/// directory.
/// Throws kernels::Error(usage) with "DECK:LINE:COLUMN: message" or "command line: section.key:
/// message", also for a deck that cannot be opened. A delay trace that cannot be read is an
/// Error(rank) at its key.
Deck read_deck(const std::filesystem::path& file, const std::vector<std::string>& overrides,
               const std::filesystem::path& folder = {});

/// The defaults with `overrides`, for a command that looks at a machine and trains nothing. Throws
/// kernels::Error(usage) "command line: section.key: message". Keys that need others are not missed,
/// and of the contradictions between keys only those of [verbs] are seen.
Deck deck_of_overrides(const std::vector<std::string>& overrides);

/// The resolved deck as TOML: all keys in table order, except a placeholder model's. Reading it
/// back gives the same Deck.
std::string to_toml(const Deck& deck);
/// Parses the text of to_toml(), which rank 0 broadcasts.
Deck parse_resolved_deck(const std::string& toml);
/// The same of a text that another version may have written. None where this one cannot read it, or where it is empty.
std::optional<Deck> readable_deck(const std::string& toml);

std::string deck_help();       ///< text of `tenax --deck-help`
std::string reference_toml();  ///< text of inputs/reference.toml

}  // namespace tenax::io
