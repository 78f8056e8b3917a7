#include "comm/mpi/check.hpp"

#include <array>

namespace tenax::comm {

void throw_mpi_error(int code, const char* call, kernels::Scope scope, const std::string& where) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw kernels::Error(scope, std::string(call) + " failed at " + where + ": " + text.data());
}

}  // namespace tenax::comm
