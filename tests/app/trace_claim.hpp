// Claims of run_check about trace.json.
#pragma once

#include <string>
#include <vector>

/// Throws std::runtime_error unless the file is what Chrome's trace event format asks for: every event has its phase's
/// fields, slices of a track do not overlap, each of `messages` flows leaves one slice and arrives later at another rank's,
/// and every rank has a slice of each of `names`.
void check_trace(const std::string& file, long messages, const std::vector<std::string>& names);
