// What a run of replicas tells of its effective time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/deck/deck.hpp"
#include "io/json.hpp"
#include "resilience/effective_time/effective_time.hpp"

namespace tenax::app {

/// `effective_percent` and `lost_seconds` (seconds by cause), as the event `end` has them.
io::JsonObject effective_details(const resilience::TimeByCause& time);
/// `tracking_share` and `mitigation_seconds`, as the event `end` has them, of these replicas since `begin_s` (UNIX time): by
/// what their own events tell, so that one that was killed counts for what it had done by then.
io::JsonObject fail_slow_details(const std::vector<std::filesystem::path>& replica_directories,
                                 double begin_s);
/// "effective 93.1 % of 64.2 s; lost: first step 2.1 s, none alive 1.9 s": what is lost by its length, without what is less
/// than a thousandth.
std::string effective_line(const resilience::TimeByCause& time);
/// Of a run that began at `begin_s`.
resilience::EffectiveTime::Options effective_options(const io::Deck& deck, double begin_s);

/// The lines of `tenax inspect` on a run directory: empty where it is none of a run of replicas.
std::string effective_summary(const std::filesystem::path& run_directory);

}  // namespace tenax::app
