// Open files (descriptors): how many this process may have at a time. Each connection takes up to four, each thread
// that polls one or two, so that a rank with many delegates or connections to other replicas needs more than the usual
// 1024.
#pragma once

#include <cstddef>
#include <string>

namespace tenax::kernels {

/// What a shell or scheduler has set (the soft limit).
std::size_t open_files_limit();

/// As many as the administrator allows (the hard limit), but no more than 65 536: programs that this one starts inherit
/// the limit, and some of them close all descriptors that there might be. A limit that is higher already stays. Before
/// threads open anything; where the kernel refuses, nothing changes.
void raise_open_files_limit();

/// For an error that says that there are too many: "allow more: ulimit -n 2048; now 1024", with twice what there is,
/// and who else can allow more where the shell cannot.
std::string more_open_files_advice();

}  // namespace tenax::kernels
