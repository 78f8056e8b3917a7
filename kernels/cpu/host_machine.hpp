// What the operating system says about this host's processor.
#pragma once

#include <string>

namespace tenax::kernels {

/// The processor's name and its widest vector instructions, e.g. "AMD EPYC, AVX-512".
std::string processor_name();

}  // namespace tenax::kernels
