// Failure: an error that one thread met and others will report. Kept as text, so that every thread throws an exception
// of its own.
#pragma once

#include <exception>
#include <string>

#include "kernels/error.hpp"

namespace tenax::comm {

struct Failure {
  kernels::Scope scope = kernels::Scope::link;
  std::string sentence;

  [[noreturn]] void raise() const { throw kernels::Error(scope, sentence); }
};

/// What `error` says; an exception that is not an Error breaks this rank.
inline Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const kernels::Error& known) {
    return {known.scope(), known.what()};
  } catch (const std::exception& other) {
    return {kernels::Scope::rank, other.what()};
  } catch (...) {
    return {kernels::Scope::rank, "an exception of unknown type"};
  }
}

}  // namespace tenax::comm
