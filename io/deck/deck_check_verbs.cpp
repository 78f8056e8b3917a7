#include <set>
#include <string>

#include "io/deck/deck_check.hpp"
#include "io/deck/verbs_device.hpp"
#include "io/json.hpp"

namespace tenax::io {
namespace {

void check_devices(const VerbsSection& verbs, const Origins& origins) {
  std::set<std::string> seen;
  for (const std::string& text : verbs.devices) {
    const std::string names = "verbs.devices names " + json_string(text);
    if (!verbs_device(text))
      origins.fail({"verbs.devices"},
                   names + ", which is not \"NAME\" or \"NAME:PORT\", with \"@N\" behind it for one rank");
    if (!seen.insert(text).second) origins.fail({"verbs.devices"}, names + " twice");
  }
}

}  // namespace

void check_verbs(const Deck& deck, const Origins& origins) {
  constexpr std::int64_t kPageKib = 4;
  const VerbsSection& verbs = deck.verbs;
  check_devices(verbs, origins);
  if (verbs.ring_kib % kPageKib != 0)
    origins.fail({"verbs.ring_kib"}, "verbs.ring_kib = " + std::to_string(verbs.ring_kib) +
                                         " is not a multiple of " + std::to_string(kPageKib) +
                                         ", the size of a page");
}

}  // namespace tenax::io
