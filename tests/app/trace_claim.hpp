// Claims of run_check about trace.json.
#pragma once

#include <string>

/// Throws std::runtime_error unless the file is what Chrome's trace event format asks for: every event has its phase's
/// fields, slices of a track do not overlap, and each of `messages` flows leaves one slice and arrives later at
/// another rank's.
void check_trace(const std::string& file, long messages);
