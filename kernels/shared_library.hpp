// SharedLibrary: a library that is loaded when one of its functions is first called, so that the same program serves machines
// without it; and the versions of such libraries.
//
// A file defines the functions that are called under the library's own names, each by TENAX_CALL_IN.
#pragma once

#include <compare>
#include <string>

namespace tenax::kernels {

class SharedLibrary {
 public:
  /// `title`: "cuDNN". `name`: "libcudnn.so.9", which is looked for where the environment, this program's RUNPATH or the system
  /// say; `built_with`: the file that the build has found, tried next.
  SharedLibrary(std::string title, std::string name, std::string built_with)
      : title_(std::move(title)), name_(std::move(name)), built_with_(std::move(built_with)) {}

  /// Loads the library where nobody has yet. Throws Error(rank) where it is not to be had. Thread rule: any thread.
  void load() const { static_cast<void>(handle()); }
  /// The address of a function. Throws Error(rank) where library or function are missing.
  void* function(const char* function) const;
  /// Null where library or function are missing.
  void* function_if_there(const char* function) const noexcept;

 private:
  void* handle() const;

  std::string title_, name_, built_with_;
};

/// A library's version. Ordered.
struct LibraryVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const LibraryVersion&) const = default;
  /// 90600 and 21900 are cuDNN's and NCCL's way to say 9.6.0 and 2.19.0; smaller numbers, 8907 and 2804, are their former way.
  static LibraryVersion of_number(int number);
  std::string text() const;  ///< "9.6.0"
};

/// Throws Error(rank) where `found` is older than `least`; `why` ends the sentence: "cuDNN 9.1.0 is too old: 9.6.0 or newer is
/// needed, " + why.
void require_version(const std::string& library, LibraryVersion found, LibraryVersion least,
                     const std::string& why);

}  // namespace tenax::kernels

/// The whole body of a function named `name`: calls the one of `library` with the arguments that follow.
#define TENAX_CALL_IN(library, name, ...)                                                \
  static const auto call = reinterpret_cast<decltype(&name)>((library).function(#name)); \
  return call(__VA_ARGS__)
