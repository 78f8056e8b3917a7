// What becomes of a machine whose cuDNN is too old: whoever loads a library by its name gets the one of that name
// which the program has loaded before.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/cuda/cudnn_attention.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

TEST(CudnnAttention, refuses_a_library_that_is_too_old) {
  ASSERT_NE(dlopen(FAKE_CUDNN, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  Choices choices(true);
  try {
    CudnnAttention{choices};
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    EXPECT_NE(std::string(error.what()).find("cuDNN 9.5.1 is too old: 9.6.0 or newer is needed"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tenax::kernels::cuda
