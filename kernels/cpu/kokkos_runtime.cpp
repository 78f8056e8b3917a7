#include "kernels/cpu/kokkos_runtime.hpp"

#include <Kokkos_Core.hpp>

namespace tenax::kernels {
namespace {

class KokkosRuntime {
 public:
  KokkosRuntime() : ours_(!Kokkos::is_initialized()) {
    if (ours_) Kokkos::initialize();
  }
  ~KokkosRuntime() {
    if (ours_ && Kokkos::is_initialized()) Kokkos::finalize();
  }
  KokkosRuntime(const KokkosRuntime&) = delete;
  KokkosRuntime& operator=(const KokkosRuntime&) = delete;

 private:
  bool ours_;
};

}  // namespace

void require_kokkos() {
  static const KokkosRuntime runtime;  // initialised once, however many threads arrive
  (void)runtime;
}

}  // namespace tenax::kernels
