// Errors of comm/: how one thread hands its error to others, and how errors name ranks, hosts and
// times.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "comm/link.hpp"
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

std::string describe_rank(int world_rank, const std::string& host);  ///< "rank 2 (hostB)"
/// What to say when a wait ended without its peers: "<operation>: <who> waited 2.0 s for <whom>,
/// then gave up; …".
std::string timeout_sentence(const std::string& operation, const std::string& who, double waited_s,
                             const std::string& whom);
/// "send of 4096 bytes (tag 3)"
std::string describe_message(const std::string& what, std::size_t bytes, Tag tag);
/// What to say of a receive whose message is of another length.
std::string unequal_counts(const std::string& receive, const std::string& sender, std::size_t bytes,
                           const std::string& receiver);

std::string this_host();

}  // namespace tenax::comm
