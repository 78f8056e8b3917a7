// The part of the deck's table that says how the work is split, on what it runs and what is saved.
#include "io/deck/deck_rows.hpp"

namespace tenax::io {
namespace {

/// Beyond this a link's threads only fight for cores.
constexpr double kMaxSockets = 256;
/// No host of today has more cores.
constexpr double kMaxThreads = 1024;

void add_parallel(Keys& keys) {
  using S = ParallelSection;
  Rows<S> parallel(keys, "parallel", &Deck::parallel);
  parallel("tensor_parallel_size", &S::tensor_parallel_size, "Ranks that share each layer.").within(kRanks);
  parallel("pipeline_parallel_size", &S::pipeline_parallel_size, "Stages of consecutive layers.")
      .within(kRanks);
  parallel("data_parallel_size", &S::data_parallel_size, "Pipelines that share the global batch.")
      .within(kRanks);
  parallel("replicas", &S::replicas,
           "Fault-tolerant copies of all this, one MPI job each; tenax launch starts more than one.")
      .within({1, 1024, false, false});
}

void add_pipeline(Keys& keys) {
  using S = PipelineSection;
  Rows<S> pipeline(keys, "pipeline", &Deck::pipeline);
  pipeline("schedule", &S::schedule, "Order of the passes; adaptive plans it for the measured delays.");
  pipeline(
      "p2p", &S::p2p,
      "How stages exchange tensors: the device's own path, or by threads of the host; auto = by the device's "
      "own path until a link is slow.");
  pipeline("activation_limit", &S::activation_limit,
           "Live activations that a stage may hold, a number or one per stage; 0 = what memory allows "
           "(emulated: any "
           "number).")
      .within(kCount)
      .in("microbatches")
      .zero_when_empty();
}

void add_comm(Keys& keys) {
  using S = CommSection;
  Rows<S> comm(keys, "comm", &Deck::comm);
  comm("transport", &S::transport,
       "What carries delegated messages and gradients between replicas; auto = shared memory within a host, "
       "beyond it RDMA where both ends have a port, else TCP.");
  comm("deadline_s", &S::deadline_s, "Longest wait for a peer before the run fails.").above(0).in("seconds");
  comm(
      "interfaces", &S::interfaces,
      "Network interfaces to listen on, by name or address; none = loopback where all ranks are on one host, "
      "else those that the hosts' names lead to.")
      .example("[\"eth0\"]");
  comm("sockets_per_link", &S::sockets_per_link,
       "Connections, each with a thread, of a delegated link and direction; 0 = as many as it needs.")
      .within({0, kMaxSockets, false, false});
}

void add_device(Keys& keys) {
  using S = DeviceSection;
  Rows<S> device(keys, "device", &Deck::device);
  device("kind", &S::kind,
         "What computes; auto = cuda where there is one, else cpu; emulated = nothing, passes only take "
         "their time.");
  device("threads", &S::threads,
         "CPU: cores that a rank computes on: the same bits, and less memory than as many ranks take. mpirun "
         "binds them by --map-by slot:PE=n, Slurm by --cpus-per-task=n.")
      .within({1, kMaxThreads, false, false})
      .of_kinds({"auto", "cpu"});
  device("deterministic", &S::deterministic,
         "Equal runs give equal bits; false allows a GPU faster kernels whose sums depend on timing.");
  const std::vector<std::string> with_gpu = {"auto", "cuda"};
  device("stochastic_rounding", &S::stochastic_rounding,
         "CUDA: weights are rounded to bf16 at random, seeded, without bias, instead of to the nearest. "
         "A checkpoint holds the fp32 weights: a resumed run begins with the nearest bf16.")
      .of_kinds(with_gpu);
  device("recompute", &S::recompute,
         "Activations that are computed again in the backward pass instead of kept: less memory, more time.");
  device("cuda_graph", &S::cuda_graph,
         "CUDA, one rank: a step, from its passes to AdamW, is captured once and launched as one graph.")
      .of_kinds(with_gpu);
  device("offload_optimizer", &S::offload_optimizer,
         "CUDA: master weights and moments are kept in pinned memory of the host, and come to the GPU for "
         "each update, "
         "bucket by bucket: the same bits, in 12 bytes a weight less (bf16, AdamW). Ranks then keep their "
         "places.")
      .of_kinds(with_gpu);
  const auto emulated = [&](const char* name, auto member, const std::string& sentence) -> DeckKey& {
    return device(name, member, "Emulated: " + sentence).of_kinds({"emulated"});
  };
  const std::string per_stage = "; a number or one per stage. Required.";
  emulated("forward_ms", &S::forward_ms, "time of one forward pass" + per_stage)
      .at_least(0)
      .in("ms")
      .example("10.0");
  emulated("backward_input_ms", &S::backward_input_ms,
           "time of one backward pass of the activations" + per_stage)
      .at_least(0)
      .in("ms")
      .example("10.0");
  emulated("backward_weight_ms", &S::backward_weight_ms,
           "time of one backward pass of the weights" + per_stage)
      .at_least(0)
      .in("ms")
      .example("10.0");
  emulated(
      "direct_model", &S::direct_model,
      "what a delayed direct send holds up: the sender's queue, and once that is full its compute; or both "
      "directions of its link.");
  emulated("send_queue_depth", &S::send_queue_depth,
           "messages a send queue has room for, the one in transit included.")
      .within(kSize);
  emulated("activation_bytes", &S::activation_bytes,
           "size of a message between stages; 0 = the model's, or nothing without a model.")
      .at_least(0)
      .in("bytes");
  emulated(
      "gradient_bytes", &S::gradient_bytes,
      "size of one rank's weight gradients, which the pipelines sum; 0 = the model's, or nothing without a "
      "model.")
      .at_least(0)
      .in("bytes");
  emulated("state_bytes", &S::state_bytes,
           "size of what a rank moves in a swap (mitigate.strategies); 0 = 12 bytes a parameter of the "
           "model, or 3 x "
           "gradient_bytes without a model.")
      .at_least(0)
      .in("bytes");
  emulated("link_gbps", &S::link_gbps, "bandwidth of a link; 0 = infinite.").at_least(0).in("Gbit/s");
  emulated("copy_ms", &S::copy_ms, "time of a delegated message's copy between device and host, each way.")
      .at_least(0)
      .in("ms");
  emulated("optimizer_ms", &S::optimizer_ms, "time of the optimizer.").at_least(0).in("ms");
  emulated("probe_ms", &S::probe_ms, "time of a matrix product with which a rank's speed is tested.")
      .at_least(0)
      .in("ms");
  emulated("jitter_percent", &S::jitter_percent, "seeded spread of all times.")
      .within({0, 100, false, false})
      .in("%");
}

void add_checkpoint(Keys& keys) {
  using S = CheckpointSection;
  Rows<S> checkpoint(keys, "checkpoint", &Deck::checkpoint);
  checkpoint("interval", &S::interval,
             "Steps between checkpoints, and one at the end; 0 = by time, -1 = never.")
      .within({-1, kMaxSize, false, false})
      .in("steps");
  checkpoint("interval_minutes", &S::interval_minutes,
             "Time between checkpoints where checkpoint.interval = 0; 0 = only at the end.")
      .at_least(0)
      .in("minutes");
  checkpoint("keep", &S::keep, "How many checkpoints to keep, the newest; 0 = all.").within(kCount);
  checkpoint("dir", &S::dir,
             "Where checkpoints go, relative to the working directory; by default <output_dir>/checkpoints.")
      .example("\"runs/my-run/checkpoints\"");
}

}  // namespace

void add_machine_rows(Keys& keys) {
  add_parallel(keys);
  add_pipeline(keys);
  add_comm(keys);
  add_verbs_rows(keys);
  add_device(keys);
  add_checkpoint(keys);
  add_slowness_rows(keys);
  add_replicas_rows(keys);
  add_inject_rows(keys);
}

}  // namespace tenax::io
