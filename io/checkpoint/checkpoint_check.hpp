// Whether what a checkpoint says of itself can be: its seal says only that it is what was written.
#pragma once

#include "io/checkpoint/checkpoint_info.hpp"

namespace tenax::io {

/// Sizes are in the ranges of a deck's keys, and tensors have the shapes that follow from them and
/// lie within the file. Throws kernels::Error(rank) with a sentence that names no file.
void check_contents(const CheckpointInfo& info);

}  // namespace tenax::io
