// NoMoreThreads: the system gives this process no further thread.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace tenax::kernels {

/// While one lives: new threads are to have stacks larger than the addresses of a process, which the system refuses as it
/// refuses one thread too many. It is every thread's that starts another: only one may do so meanwhile.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t endless;
    pthread_attr_init(&endless);
    pthread_attr_setstacksize(&endless, std::size_t{1} << 60);
    pthread_setattr_default_np(&endless);
    pthread_attr_destroy(&endless);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace tenax::kernels
