#include "app/commands/checkpoint_argument.hpp"

#include <algorithm>

#include "app/error_message.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/run/run_summary.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

namespace {

/// Why `file` is no complete checkpoint; empty if it is one.
std::string fault_of(const fs::path& file) {
  try {
    io::verify_seal(file);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

fs::path checkpoint_of_argument(const std::string& argument) {
  std::error_code none;
  if (!fs::is_directory(argument, none)) return argument;
  auto checkpoints = resilience::list_checkpoints(argument);
  if (checkpoints.empty())
    checkpoints = resilience::list_checkpoints(io::checkpoint_directory_of_run(argument));
  std::reverse(checkpoints.begin(), checkpoints.end());
  for (const resilience::CheckpointFile& checkpoint : checkpoints) {
    const std::string fault = fault_of(checkpoint.path);
    if (fault.empty()) {
      print_notice("of the folder " + argument + " takes " + checkpoint.path.string());
      return checkpoint.path;
    }
    print_notice("passes over an incomplete checkpoint: " + fault);
  }
  throw Error(Scope::rank, argument +
                               " is a folder without a complete checkpoint: give a checkpoint "
                               "(step-NNNNNN.h5), or the directory of a run that has written one");
}

}  // namespace tenax::app
