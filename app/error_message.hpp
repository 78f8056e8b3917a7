// How an error reaches the user: one line on stderr.
#pragma once

#include <cstdio>

#include "kernels/error.hpp"

namespace tenax::app {

/// A deck's or command line's mistake names its own place (DECK:LINE:COLUMN: …); the rest is tenax speaking.
inline void print_error(const kernels::Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, error.scope() == kernels::Scope::usage ? "%s\n" : "tenax: %s\n", error.what());
}

}  // namespace tenax::app
