// The part of the deck's table that says what goes wrong, on purpose.
#include <cassert>

#include "io/deck/deck_rows.hpp"

namespace tenax::io {
namespace {

using Entry = InjectEntry;

void add_links(Rows<Entry>& inject) {
  const std::vector<std::string> links = {"link_delay", "link_down"};
  inject("stages", &Entry::stages,
         "The link: two neighbouring stages, bound at launch to the ranks that hold them.")
      .within(kCount)
      .of_kinds(links)
      .example("[0, 1]");
  inject("ranks", &Entry::ranks, "The link: two ranks.").within(kCount).of_kinds(links).example("[0, 1]");
  inject("data", &Entry::data, "With stages: which pipeline's link; -1 = all.")
      .within({-1, kMaxSize, false, false})
      .of_kinds(links);
  const auto delay = [&](const char* name, auto member, const std::string& sentence) -> DeckKey& {
    return inject(name, member, "link_delay: " + sentence).of_kinds({"link_delay"});
  };
  delay("delay_ms", &Entry::delay_ms, "how much later a message arrives, in either direction.")
      .at_least(0)
      .in("ms");
  delay(
      "gbps", &Entry::gbps,
      "what is left of the bandwidth: a message of n bytes takes 8n / (gbps x 1e9) seconds longer, alone or "
      "beside delay_ms; 0 = all.")
      .at_least(0)
      .in("Gbit/s");
  delay("per_packet_ms", &Entry::per_packet_ms, "as delay_ms, for each packet of a message.")
      .at_least(0)
      .in("ms");
  delay("packet_bytes", &Entry::packet_bytes, "size of such a packet.").at_least(0).in("bytes");
  inject("path", &Entry::path,
         "link_down: \"direct\" (cut in the middle of from_step), or an address of either end, or \"tcp\", "
         "\"shm\" or \"verbs\" (down from its beginning).")
      .of_kinds({"link_down"})
      .example("\"direct\"");
}

void add_compute(Rows<Entry>& inject) {
  inject("factor", &Entry::factor,
         "slow_compute: an operation takes that many times as long, at least 1; messages and copies do not.")
      .at_least(0)
      .of_kinds({"slow_compute"})
      .example("1.5");
  inject(
      "trace", &Entry::trace,
      "A CSV file of seconds,delay_ms (link_delay) or seconds,factor (slow_compute), relative to the deck: "
      "from each time on (0 = the first step begins) that delay or factor.")
      .of_kinds({"link_delay", "slow_compute"})
      .example("\"delays.csv\"");
}

void add_replicas(Rows<Entry>& inject) {
  inject("replicas", &Entry::replicas,
         "link_delay, partition: two replicas, between whose ranks messages are late, or lost.")
      .within(kCount)
      .of_kinds({"link_delay", "partition"})
      .example("[0, 1]");
  inject("replica", &Entry::replica,
         "The replica that suffers; of a partition with service. slow_compute: -1 = each.")
      .within({-1, kMaxSize, false, false})
      .of_kinds({"slow_compute", "process", "partition", "hang", "bit_flip"})
      .example("0");
  inject("rank", &Entry::rank,
         "The rank that suffers, counted in its replica; process: -1 = the replica's mpirun. "
         "Required for slow_compute.")
      .within({-1, kMaxSize, false, false})
      .of_kinds({"slow_compute", "process", "hang", "bit_flip"});
  inject("signal", &Entry::signal, "process: how it ends, or stops.").of_kinds({"process"});
  inject("stop_s", &Entry::stop_s, "process: with STOP, until it goes on; 0 = for good.")
      .at_least(0)
      .of_kinds({"process"})
      .in("seconds");
  inject(
      "point", &Entry::point,
      "process: where in from_step; update = between vote and update; checkpoint: in the replica that writes "
      "it.")
      .of_kinds({"process"});
  inject("service", &Entry::service, "partition: between the replica and the membership service.")
      .of_kinds({"partition"});
  inject("seconds", &Entry::seconds, "partition: how long; required.")
      .at_least(0)
      .of_kinds({"partition"})
      .in("seconds");
  inject("repeat", &Entry::repeat,
         "Comes each time that a step from from_step on comes to it, not once in the run.")
      .of_kinds({"process", "partition", "hang", "bit_flip"});
}

void add_culprits(Rows<Entry>& inject) {
  inject("where", &Entry::where,
         "hang: what hangs; skip_collective = it leaves one out; connection = one that is half open.")
      .of_kinds({"hang"});
  const auto flip = [&](const char* name, auto member, const std::string& sentence) -> DeckKey& {
    return inject(name, member, "bit_flip: " + sentence).of_kinds({"bit_flip"});
  };
  flip("tensor", &Entry::tensor, "its name at Hugging Face.").example("\"h.0.attn.c_attn.weight\"");
  flip("part", &Entry::part,
       "which of its values; own_sum = before the exchange between replicas, sum = after it.");
  flip("element", &Entry::element, "which element; -1 = drawn by the seed.")
      .within({-1, std::numeric_limits<double>::infinity(), false, false});
  flip("bit", &Entry::bit, "which bit of it; -1 = drawn by the seed.").within({-1, 31, false, false});
}

}  // namespace

void add_inject_rows(Keys& keys) {
  Rows<Entry> inject(keys, "inject", [](Deck& deck, std::size_t i) -> Entry& {
    assert(i < deck.inject.size());
    return deck.inject[i];
  });
  inject("kind", &Entry::kind, "What goes wrong.").required("\"link_delay\"");
  inject("from_step", &Entry::from_step, "First step of the fault.").within(kCount);
  inject("to_step", &Entry::to_step, "First step without it again; 0 = none.").within(kCount);
  inject("from_s", &Entry::from_s,
         "It holds no earlier than so long after the first step began. Steps and seconds may both be given: "
         "then it holds while both do.")
      .at_least(0)
      .in("seconds");
  inject("to_s", &Entry::to_s, "It holds no longer than until then; 0 = no limit.").at_least(0).in("seconds");
  add_links(inject);
  add_compute(inject);
  add_replicas(inject);
  add_culprits(inject);
}

}  // namespace tenax::io
