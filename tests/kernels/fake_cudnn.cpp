// A cuDNN that only tells its version, the last one before those that clear their sums.
#include <cudnn.h>

#include <cstddef>

std::size_t cudnnGetVersion() { return 90501; }
