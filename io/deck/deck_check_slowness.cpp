#include "io/deck/deck_check.hpp"

namespace tenax::io {
namespace {

void check_detect(const Deck& deck, const Origins& origins) {
  if (deck.detect.probe_mb.empty())
    origins.fail({"detect.probe_mb"},
                 "detect.probe_mb = [] leaves no message to test a link with: name at least one size");
}

void check_mitigate(const Deck& deck, const Origins& origins) {
  const MitigateSection& mitigate = deck.mitigate;
  const bool restarts = mitigate.restart == RestartElsewhere::exit;
  if (restarts && deck.parallel.replicas > 1)
    origins.fail({"mitigate.restart", "parallel.replicas"},
                 not_supported("mitigate.restart = \"exit\" with parallel.replicas = " +
                                   std::to_string(deck.parallel.replicas),
                               "it cannot start a single replica elsewhere; use \"never\""));
  if (restarts && deck.checkpoint.interval < 0 && deck.device.kind != DeviceKind::emulated)
    origins.fail(
        {"mitigate.restart", "checkpoint.interval"},
        "mitigate.restart = \"exit\" needs checkpoints to start again from, and checkpoint.interval = -1 "
        "writes none");
  if (deck.detect.enabled) return;
  const std::string blind = " with detect.enabled = false: nothing would be found to act against";
  if (!mitigate.strategies.empty())
    origins.fail({"mitigate.strategies", "detect.enabled"}, "mitigate.strategies is not empty" + blind);
  if (restarts) origins.fail({"mitigate.restart", "detect.enabled"}, "mitigate.restart = \"exit\"" + blind);
}

}  // namespace

void check_slowness(const Deck& deck, const Origins& origins) {
  check_detect(deck, origins);
  check_mitigate(deck, origins);
}

}  // namespace tenax::io
