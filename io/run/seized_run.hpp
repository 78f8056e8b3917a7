// seize_run(): takes a run's files from a process that may still believe they are its own.
#pragma once

#include <filesystem>

namespace tenax::io {

/// Whoever holds the locks of the two directories holds files without a name from now on
/// (DirectoryLock::in_place()), and so whoever has the run's ledger, metrics and events open
/// (LineFile::in_place()): what it adds to them is lost. What it had added before is kept. A crash on
/// the way is made good by the next call. Throws kernels::Error(rank).
void seize_run(const std::filesystem::path& run_directory, const std::filesystem::path& checkpoints);

}  // namespace tenax::io
