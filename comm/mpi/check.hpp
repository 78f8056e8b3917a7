// The one way MPI is called: every call through TENAX_MPI, which quotes the call when it fails.
#pragma once

#include <mpi.h>

#include <array>
#include <string>

#include "kernels/error.hpp"

namespace tenax::comm {

/// "MPI_Isend(…) failed at <where>: <MPI's own text>".
[[noreturn]] inline void throw_mpi_error(int code, const char* call, kernels::Scope scope,
                                         const std::string& where) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw kernels::Error(scope, std::string(call) + " failed at " + where + ": " + text.data());
}

}  // namespace tenax::comm

/// `where` is evaluated only on failure. Communicators return errors (MPI_ERRORS_RETURN) for this
/// to work.
#define TENAX_MPI(scope, where, call)                                                               \
  do {                                                                                              \
    const int tenax_mpi_code = (call);                                                              \
    if (tenax_mpi_code != MPI_SUCCESS)                                                              \
      ::tenax::comm::throw_mpi_error(tenax_mpi_code, #call, ::tenax::kernels::Scope::scope, where); \
  } while (false)
