#include "kernels/shared_library.hpp"

#include <dlfcn.h>

#include "kernels/error.hpp"

namespace tenax::kernels {

// Loaded once more than needed does no harm: it is counted, and never given back.
void* SharedLibrary::handle() const {
  std::string why;
  for (const std::string& file : {name_, built_with_}) {
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (const char* const text = dlerror(); text && why.empty()) why = text;
  }
  throw Error(Scope::rank,
              "cannot load " + title_ + " (" + why +
                  "): install it, or name its folder in LD_LIBRARY_PATH, or set device.kind = \"cpu\"");
}

void* SharedLibrary::function(const char* function) const {
  if (void* const symbol = dlsym(handle(), function)) return symbol;
  throw Error(Scope::rank, "the " + title_ + " of this machine has no " + function +
                               ": install the one of this build, or set device.kind = \"cpu\"");
}

void* SharedLibrary::function_if_there(const char* function) const noexcept {
  try {
    return dlsym(handle(), function);
  } catch (const Error&) {
    return nullptr;
  }
}

LibraryVersion LibraryVersion::of_number(int number) {
  constexpr int kLeastOfNewWay = 10000;
  if (number >= kLeastOfNewWay) return {number / 10000, number / 100 % 100, number % 100};
  return {number / 1000, number / 100 % 10, number % 100};
}

std::string LibraryVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

void require_version(const std::string& library, LibraryVersion found, LibraryVersion least,
                     const std::string& why) {
  if (found >= least) return;
  throw Error(Scope::rank,
              library + " " + found.text() + " is too old: " + least.text() + " or newer is needed, " + why);
}

}  // namespace tenax::kernels
