// The part of the deck's table that says how the work is split, on what it runs and what is saved.
#include <cassert>

#include "io/deck_rows.hpp"

namespace tenax::io {
namespace {

void add_parallel(Keys& keys) {
  using S = ParallelSection;
  Rows<S> parallel(keys, "parallel", &Deck::parallel);
  parallel("tensor_parallel_size", &S::tensor_parallel_size, "Ranks that share each layer.").within(kSize);
  parallel("pipeline_parallel_size", &S::pipeline_parallel_size, "Stages of consecutive layers.")
      .within(kSize);
  parallel("data_parallel_size", &S::data_parallel_size, "Pipelines that share the global batch.")
      .within(kSize);
  parallel("replicas", &S::replicas, "Fault-tolerant copies of all this, one MPI job each.")
      .within(kSize)
      .comes_later("it trains one replica");
}

void add_pipeline(Keys& keys) {
  using S = PipelineSection;
  Rows<S> pipeline(keys, "pipeline", &Deck::pipeline);
  pipeline("schedule", &S::schedule, "Order of the passes; adaptive plans it for the measured delays.")
      .one_of({"gpipe", "1f1b", "zero_bubble", "adaptive"});
  pipeline("p2p", &S::p2p, "How stages exchange tensors: the device's own path, or by threads of the host.")
      .one_of({"direct", "delegated", "auto"})
      .comes_later("stages exchange tensors directly", {"delegated"});
  pipeline("activation_limit", &S::activation_limit,
           "Live activations that a stage may hold, a number or one per stage; 0 = what memory allows.")
      .within(kCount)
      .in("microbatches")
      .zero_when_empty();
}

void add_comm(Keys& keys) {
  using S = CommSection;
  Rows<S> comm(keys, "comm", &Deck::comm);
  comm("transport", &S::transport, "What carries delegated messages and gradients between replicas.")
      .one_of({"auto", "tcp", "shm", "verbs"})
      .comes_later("all traffic is MPI's", {"tcp", "shm", "verbs"});
  comm("deadline_s", &S::deadline_s, "Longest wait for a peer before the run fails.").above(0).in("seconds");
  comm("interfaces", &S::interfaces, "Network interfaces to use; none = all.")
      .example("[\"eth0\"]")
      .comes_later("MPI chooses the interfaces");
  comm("sockets_per_link", &S::sockets_per_link, "TCP connections of one link; 0 = automatic.")
      .within(kCount)
      .comes_later("all traffic is MPI's");
}

void add_device(Keys& keys) {
  using S = DeviceSection;
  const std::string later = "it has no emulated device";
  Rows<S> device(keys, "device", &Deck::device);
  device("kind", &S::kind, "What computes; auto = cuda where there is one, else cpu.")
      .one_of({"auto", "cpu", "cuda", "emulated"})
      .comes_later(later, {"emulated"});
  const auto emulated_times = [&](const char* name, std::vector<double> S::*member, const char* pass) {
    device(name, member, std::string("Emulated: time of one ") + pass + "; a number or one per stage.")
        .at_least(0)
        .in("ms")
        .example("10.0")
        .comes_later(later);
  };
  emulated_times("forward_ms", &S::forward_ms, "forward pass");
  emulated_times("backward_input_ms", &S::backward_input_ms, "backward pass of the activations");
  emulated_times("backward_weight_ms", &S::backward_weight_ms, "backward pass of the weights");
  device("direct_model", &S::direct_model, "Emulated: what holds up a delayed direct send.")
      .one_of({"send_queue", "shared_channel"})
      .comes_later(later);
  device("send_queue_depth", &S::send_queue_depth, "Emulated: messages a send queue has room for.")
      .within(kSize)
      .comes_later(later);
  device("activation_bytes", &S::activation_bytes,
         "Emulated: size of an activation message; 0 = the model's.")
      .at_least(0)
      .in("bytes")
      .comes_later(later);
  device("gradient_bytes", &S::gradient_bytes, "Emulated: size of a gradient message; 0 = the model's.")
      .at_least(0)
      .in("bytes")
      .comes_later(later);
  device("link_gbps", &S::link_gbps, "Emulated: bandwidth of a link; 0 = infinite.")
      .at_least(0)
      .in("Gbit/s")
      .comes_later(later);
  device("copy_ms", &S::copy_ms, "Emulated: time of a copy between device and host, each way.")
      .at_least(0)
      .in("ms")
      .comes_later(later);
  device("optimizer_ms", &S::optimizer_ms, "Emulated: time of the optimizer.")
      .at_least(0)
      .in("ms")
      .comes_later(later);
  device("jitter_percent", &S::jitter_percent, "Emulated: seeded spread of all times.")
      .at_least(0)
      .in("%")
      .comes_later(later);
}

void add_checkpoint(Keys& keys) {
  using S = CheckpointSection;
  Rows<S> checkpoint(keys, "checkpoint", &Deck::checkpoint);
  checkpoint("interval", &S::interval, "Steps between checkpoints; 0 = only at the end, -1 = never.")
      .within({-1, kMaxSize, false, false})
      .in("steps");
  checkpoint("keep", &S::keep, "How many checkpoints to keep, the newest; 0 = all.").within(kCount);
  checkpoint("dir", &S::dir,
             "Where checkpoints go, relative to the working directory; by default <output_dir>/checkpoints.")
      .example("\"runs/my-run/checkpoints\"");
}

void add_inject(Keys& keys) {
  using S = InjectEntry;
  Rows<S> inject(keys, "inject", [](Deck& deck, std::size_t i) -> S& {
    assert(i < deck.inject.size());
    return deck.inject[i];
  });
  inject("kind", &S::kind, "What goes wrong.").one_of({"link_delay", "link_down"}).required("\"link_delay\"");
  inject("from_step", &S::from_step, "First step of the fault.").within(kCount);
  inject("to_step", &S::to_step, "First step without it again; 0 = none.").within(kCount);
  inject("stages", &S::stages, "The link: two neighbouring stages.").within(kCount).example("[0, 1]");
  inject("ranks", &S::ranks, "The link: two ranks.").within(kCount).example("[0, 1]");
  inject("data", &S::data, "Which pipeline's link; -1 = all.").within({-1, kMaxSize, false, false});
  inject("delay_ms", &S::delay_ms, "link_delay: how much later a message arrives.").at_least(0).in("ms");
  inject("per_packet_ms", &S::per_packet_ms, "link_delay: the same for each packet.").at_least(0).in("ms");
  inject("packet_bytes", &S::packet_bytes, "link_delay: size of such a packet.").at_least(0).in("bytes");
  inject("trace", &S::trace, "link_delay: a CSV file of seconds,delay_ms, relative to the deck.")
      .example("\"delays.csv\"");
  inject("path", &S::path, "link_down: \"direct\" or an address.").example("\"direct\"");
}

}  // namespace

void add_machine_rows(Keys& keys) {
  add_parallel(keys);
  add_pipeline(keys);
  add_comm(keys);
  add_device(keys);
  add_checkpoint(keys);
  add_inject(keys);
}

}  // namespace tenax::io
