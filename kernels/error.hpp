// The one exception type of tenax: what failed, how far the damage reaches, and what to
// do about it.
#pragma once

#include <stdexcept>
#include <string>

namespace tenax::kernels {

/// The largest thing an error breaks. `usage` is wrong on any machine (exit status 2); every other
/// scope is this machine, a file, the network or the run (exit status 1).
enum class Scope { usage, operation, link, rank, replica, job };

/// Thrown for faults of the user, the machine or the network. The sentence says what, where and
/// what to do. Faults of our own are asserts.
class Error : public std::runtime_error {
 public:
  Error(Scope scope, const std::string& sentence) : std::runtime_error(sentence), scope_(scope) {}
  Scope scope() const { return scope_; }
  int exit_status() const { return scope_ == Scope::usage ? 2 : 1; }

 private:
  Scope scope_;
};

/// A file is absent, cut off, damaged or of another kind: whoever reads it once more finds it so again.
class UnfitFileError : public Error {
 public:
  using Error::Error;
};

}  // namespace tenax::kernels
