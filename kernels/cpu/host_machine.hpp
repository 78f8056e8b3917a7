// What the operating system says about this host.
#pragma once

#include <cstddef>
#include <string>

namespace tenax::kernels {

/// The processor's name and its widest vector instructions, e.g. "AMD EPYC, AVX-512".
std::string processor_name();

/// Bytes this process may use: physical memory, or the smallest limit of its control groups where that is
/// less.
std::size_t usable_memory_bytes();

}  // namespace tenax::kernels
