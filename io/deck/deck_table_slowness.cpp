// The part of the deck's table that says how what is slow is found, and what is done about it.
#include "io/deck/deck_rows.hpp"

namespace tenax::io {
namespace {

void add_detect(Keys& keys) {
  using S = DetectSection;
  Rows<S> detect(keys, "detect", &Deck::detect);
  detect("enabled", &S::enabled, "Tell when iterations have become slower (onset) or fast again (relief).");
  detect("min_change", &S::min_change,
         "The least change of the iteration time that is told, as a share of it; at least 0.5 where CPU "
         "ranks share cores.")
      .within({0.03, 1, false, false});
  detect("hazard", &S::hazard, "How many iterations are expected from one change to the next.")
      .at_least(10)
      .in("iterations");
  detect("warmup", &S::warmup, "The first iterations after a start, whose times say nothing.")
      .within(kCount)
      .in("iterations");
  detect("suspect", &S::suspect,
         "A rank, group or link is suspect that takes so many times as long as the median of those with the "
         "same work; without any such, as long as itself while healthy.")
      .above(1);
  detect("validate", &S::validate,
         "Whether suspects are tested while all ranks hold between two steps: auto = where more than one is "
         "left, once the time lost has reached what the test is expected to take.");
  detect("probe_mb", &S::probe_mb,
         "Sizes of the messages that test a link, at least one; smaller ones are taken where their time does "
         "not suffice.")
      .within({0.001, 1024, false, false})
      .in("MB");
  detect("probe_seconds", &S::probe_seconds, "The longest that ranks are held for one such test.")
      .above(0)
      .in("seconds");
}

void add_mitigate(Keys& keys) {
  using S = MitigateSection;
  Rows<S> mitigate(keys, "mitigate", &Deck::mitigate);
  mitigate(
      "strategies", &S::strategies,
      "What may be done while training goes on, once the time lost has reached its cost: microbatches = "
      "slow pipelines compute fewer of a step, so that sums agree to rounding alone; ring = gradients go "
      "round without a slow link; swap = tensor groups exchange their places in the layout. The last two "
      "keep every bit (of NCCL's sums: to rounding). None without detect.enabled, nor with "
      "parallel.replicas > 1: slow ranks are told of there.");
  mitigate(
      "restart", &S::restart,
      "exit = where other hosts can be had, a run that has lost what a restart costs writes a checkpoint "
      "and its slow hosts (exclude_hosts.txt), and ends with status 3. They can be had in a Slurm allocation "
      "that leaves a node over, and where TENAX_REQUEUE=1 in the environment says that something starts the "
      "run again; elsewhere nothing ends.");
  mitigate("restart_cost_s", &S::restart_cost_s,
           "What a restart costs; 0 = the last checkpoint's time and that from the start to the first step.")
      .at_least(0)
      .in("seconds");
  mitigate("min_gain", &S::min_gain, "The least that an action must win, as a share of an iteration.")
      .within({0, 1, false, false});
  mitigate("heal_steps", &S::heal_steps,
           "How long a part must have healed before what was done against it is undone.")
      .within(kSize)
      .in("iterations");
}

}  // namespace

void add_slowness_rows(Keys& keys) {
  add_detect(keys);
  add_mitigate(keys);
}

}  // namespace tenax::io
